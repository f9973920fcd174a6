"""
Dependences, coverage and trip counts of loop nests with affine bounds and accesses.
"""
