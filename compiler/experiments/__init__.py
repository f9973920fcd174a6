"""Experiments on compiled programs."""
