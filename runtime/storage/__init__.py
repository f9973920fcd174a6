"""Storage: files of compiled programs, and the cache of them on disk."""
