"""
Decisions about chunks of moves, on the facts of a block: shared by the passes and the
cost model.
"""
