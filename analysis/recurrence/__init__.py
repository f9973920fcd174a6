"""Cascaded reductions that run in one loop."""
