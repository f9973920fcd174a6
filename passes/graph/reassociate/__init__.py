"""Reassociation of sums and linear combinations, checked by the target's cost model."""
