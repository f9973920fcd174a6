"""Shared fixtures of the frontend tests."""

from __future__ import annotations

from tlf.runtime.triton.device_selection import choose_interpreter_mode

# Before a test imports what imports Triton.
choose_interpreter_mode()
