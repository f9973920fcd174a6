"""
Import of PyTorch programs: exceptions for operations and programs that cannot be
imported.
"""

from __future__ import annotations


class Unsupported(Exception):
    """Unsupported operation, or form of an operation; the message is one line."""


class ImportFailure(Exception):
    """Failure to import a program; the message is one line."""
