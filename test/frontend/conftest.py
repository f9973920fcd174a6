"""Shared fixtures of the frontend tests."""

from __future__ import annotations

import pytest

from tlf.runtime.triton.device_selection import choose_interpreter_mode

# Before a test imports what imports Triton.
choose_interpreter_mode()


@pytest.fixture(autouse=True)
def use_first_plans(first_plans: None) -> None:
    """No test here depends on plans."""
