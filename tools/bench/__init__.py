"""Experiments with compiled programs, for `tlf-bench`."""
