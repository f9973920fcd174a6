"""Loops over tiles fused."""
