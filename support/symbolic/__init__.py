"""Symbolic execution of integer functions, without IR."""
