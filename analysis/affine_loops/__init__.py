"""
Analysis of loop nests with affine bounds and accesses: dependences, coverage and trip
counts.
"""
