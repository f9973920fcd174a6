"""Bufferisation: tiles become buffers, or values in target-managed memory levels."""
