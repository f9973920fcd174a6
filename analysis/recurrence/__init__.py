"""Cascaded reductions, which one loop computes together."""
