"""Passes on buffers, moves between memory levels, and loops over tiles."""
