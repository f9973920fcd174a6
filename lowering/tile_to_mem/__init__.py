"""
Lowering of `tile` to `mem` (bufferisation): tiles become buffers, or values in
target-managed memory levels.
"""
