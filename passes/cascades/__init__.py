"""Reductions along one axis, one after the other, as one loop."""
