"""Rewrite of operations on images to matrices with a row per pixel."""
