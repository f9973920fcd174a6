"""Reference interpreters of all dialects on numpy arrays."""
