"""Import of programs of other systems."""
