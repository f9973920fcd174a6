"""Canonicalization and simplification rules of the graph dialect."""
