"""Cycle estimates of tile programs on NPUs."""
