"""Dependences, coverage and trip counts of loops with affine bounds and accesses."""
