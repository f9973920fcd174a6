"""Analysis of recurrences: access to SymPy, which has no types, without IR."""

from __future__ import annotations

from importlib import import_module
from typing import Any, TypeAlias

sympy: Any = import_module("sympy")

Expr: TypeAlias = Any
"""A formula."""

Symbol: TypeAlias = Any
"""A variable of a formula."""
