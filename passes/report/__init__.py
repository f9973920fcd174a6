"""Passes that annotate or verify and rewrite nothing."""
