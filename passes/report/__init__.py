"""Passes that only annotate or verify: they add attributes and remarks."""
