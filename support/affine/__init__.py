"""Affine expressions over indices."""
