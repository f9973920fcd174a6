"""Loads moved up."""
