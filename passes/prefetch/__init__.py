"""How far up loads may go."""
