"""Tile sizes of groups without a cost model."""
