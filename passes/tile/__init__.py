"""Passes on `tile` loops."""
