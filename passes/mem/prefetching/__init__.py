"""
Helpers of the pass `mem-prefetch`: hoistable loads, and capacity of their memory level.
"""
