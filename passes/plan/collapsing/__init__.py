"""Neighbouring dimensions collapsed."""
