"""Affine expressions over iteration domains and symbols, and axis orders."""
