"""Explanations of compilations."""
