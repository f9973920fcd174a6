"""
Rewrites of the passes `mem-pipeline`, `mem-chunk-loads` and `mem-chunk-stores`:
multi-buffering, prefetch distances, and chunks of moves.
"""
