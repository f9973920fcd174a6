"""Fusion, the decisions: which operations may run together, and whether it pays."""
