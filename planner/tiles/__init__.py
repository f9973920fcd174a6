"""Tile sizes for groups that no cost model prices."""
