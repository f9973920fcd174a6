"""Shared fixtures of the frontend tests."""

from __future__ import annotations

from tlf.runtime.triton.device_selection import choose_mode

# Before a test imports what imports Triton.
choose_mode()
