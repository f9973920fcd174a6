"""Planning of the partition of graphs into groups for a memory level."""
