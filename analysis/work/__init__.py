"""Operation counts, bytes and rooflines of graphs."""
