"""Facts about single operations: what they iterate over, read and compute with."""
