"""
Decision on loops that are distributed over cores, on the facts of a block: shared by
the pass and the cost model.
"""
