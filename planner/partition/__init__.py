"""Partition of graphs into groups for a level of memory."""
