"""Tile-and-fuse, the decisions: which tiles a group of operations needs."""
