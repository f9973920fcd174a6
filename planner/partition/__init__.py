"""Partition of graphs into groups for a memory level."""
