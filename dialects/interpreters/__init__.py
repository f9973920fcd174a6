"""Reference interpretation of all dialects on numpy arrays."""
