"""
Rewrites of the pass `tile-fuse-loops`: sink slices, fuse two nests, erase dead tiles.
"""
