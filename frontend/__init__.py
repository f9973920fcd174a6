"""Frontend: import of programs of other systems."""
