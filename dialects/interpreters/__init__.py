"""Reference interpreters: programs at every level, run on numpy arrays."""
