"""Bufferisation: tiles get buffers, or stay values where the target manages a level."""
