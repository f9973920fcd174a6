"""Liveness, aliasing and disjointness of buffers, and index ranges."""
