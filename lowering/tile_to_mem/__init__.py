"""Bufferisation: tiles become buffers, or stay values in levels the target manages."""
