"""
Affine arithmetic over iteration domains and symbols, and axis orders; reads index
values only.
"""
