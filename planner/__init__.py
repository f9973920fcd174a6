"""
Planning of groups, layouts and tile sizes, from estimated costs; passes apply most
decisions to the IR.
"""
