"""Analysis of graphs: operation counts, bytes and rooflines."""
