"""The TLF command-line tools and what they share."""
