"""Compiled programs and the PyTorch backend."""
