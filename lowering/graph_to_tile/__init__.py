"""Tile-and-fuse, the mechanism: the loops over the tiles of a group."""
