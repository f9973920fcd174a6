"""Command-line tools of TLF and their common parts."""
