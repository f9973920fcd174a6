"""
Decisions on overlapping iterations of loops, on the facts of a loop body: shared by the
pass and the cost model.
"""
