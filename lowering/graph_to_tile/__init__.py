"""Tile-and-fuse lowering of planned groups of `graph` operations to tile loops."""
