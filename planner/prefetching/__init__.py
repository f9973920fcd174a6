"""
Decision on early loads, on the facts of a function: shared by the pass and the cost
model.
"""
