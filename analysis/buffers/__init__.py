"""
Analysis of buffers: liveness, aliasing and disjointness, and ranges of their indices.
"""
