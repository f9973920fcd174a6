"""Nests of loops over tiles: which boxes iterations touch, and in what order."""
