"""
Rewrites of the pass `graph-split-k-reductions`: partial reductions and their
combination.
"""
