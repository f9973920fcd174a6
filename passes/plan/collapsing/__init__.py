"""
Rewrite of the pass `graph-collapse-dims`, and its legality checks: collapsing of two
neighbouring dimensions of a group's tensors.
"""
