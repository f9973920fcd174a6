"""Python files of the project."""

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
"""Folders of the package."""


def sources(*folders: str) -> list[Path]:
    """
    Return the files in `folders`; by default of the packages, tests, examples and
    bench.
    """
    selected = folders or (*FOLDERS, "test", "examples", "bench", "docs")
    return sorted(file for each in selected for file in (ROOT / each).rglob("*.py"))
