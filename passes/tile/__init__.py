"""Passes on loops over tiles."""
