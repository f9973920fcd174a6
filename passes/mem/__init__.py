"""Passes on buffers and moves."""
