"""Hoisting of loads outside of loops as far as their memory level has capacity."""
