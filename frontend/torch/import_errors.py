"""Exceptions of the import."""

from __future__ import annotations


class Unsupported(Exception):
    """An operation, or a form of one, that TLF has not; the message is one line."""


class ImportFailure(Exception):
    """A program that cannot be imported; the message is one line."""
