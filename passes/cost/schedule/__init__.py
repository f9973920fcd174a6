"""The time of a program of tiles, from its loops, moves and computation."""
