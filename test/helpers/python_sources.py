"""The Python files of the project."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]

FOLDERS = (
    "machine",
    "support",
    "dialects",
    "analysis",
    "planner",
    "passes",
    "lowering",
    "runtime",
    "frontend",
    "compiler",
    "tools",
)
"""The folders of the package."""


def sources(*folders: str) -> list[Path]:
    """The files in `folders`, in all of the packages and tests if none is given."""
    chosen = folders or (*FOLDERS, "test", "examples", "bench", "docs")
    return sorted(file for each in chosen for file in (ROOT / each).rglob("*.py"))
