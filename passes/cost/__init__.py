"""What tiled groups cost: bytes in a memory, cycles on a machine."""
