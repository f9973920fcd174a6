"""
Decisions on fills and casts that accumulations make redundant, on the facts of a
function: shared by the passes and the cost model.
"""
