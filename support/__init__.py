"""Algorithms and data structures without IR."""
