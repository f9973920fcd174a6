"""Operations, bytes and rooflines of graphs."""
