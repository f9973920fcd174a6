"""Rewrites that reassociate sums and linear combinations, checked by the cost model."""
