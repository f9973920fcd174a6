"""Reductions split into partial ones."""
