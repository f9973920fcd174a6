"""Tile-and-fuse: lower planned groups of `graph` operations to loops over tiles."""
