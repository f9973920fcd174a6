"""Backward tile analysis of fused groups."""
