"""Algorithms and data structures that know no IR."""
