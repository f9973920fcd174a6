"""Tile, Loop, Fuse: a compiler from tensor graphs to tiled kernels."""
