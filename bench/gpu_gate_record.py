"""Records of the GPU gate: results by card, and regressions against them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

LOSS = 0.05
"""The part of the ratio to the best peer that a row may lose."""

FACTOR, LEAST = 4.0, 1e-6
"""
Results may be as many times as far from those in f64 as PyTorch's are, of which at
least `LEAST` is granted: strict numerics round more often than PyTorch does.
"""

Record = dict[str, Any]


def read_record(path: Path) -> Record:
    """The record in a file, or an empty one."""
    if not path.exists():
        return {"commit": "", "cards": {}}
    return json.loads(path.read_text(encoding="utf-8"))


def write_record(path: Path, record: Record) -> None:
    """Replace a file by a record, rows in the order of their names."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(record, indent=1, sort_keys=True)
    fresh = path.with_suffix(".tmp")
    fresh.write_text(f"{text}\n", encoding="utf-8")
    fresh.replace(path)


def find_faults(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield the faults of a row by itself, as sentences."""
    if "failed" in row:
        yield f"failed: {row['failed']}"
        return
    if "example error" in row:
        return
    most = FACTOR * max(float(row["eager error"]), LEAST)
    for name in ("tlf error", "tlf error again"):
        if not float(row[name]) <= most:
            yield f"{name} {row[name]:.1e}, PyTorch's {row['eager error']:.1e}"


def find_regressions(
    row: Mapping[str, Any], before: Mapping[str, Any]
) -> Iterator[str]:
    """
    Yield the regressions of a row since another run on a card of the same model, as
    sentences.
    """
    left = {*row.get("left to PyTorch", ())} - {*before.get("left to PyTorch", ())}
    if left:
        yield f"left to PyTorch: {', '.join(sorted(left))}"
    known, found = before.get("ratio"), row.get("ratio")
    if known is None:
        return
    if found is None:
        yield f"no ratio to the best peer, where it was {known:.2f}"
    elif found < known * (1 - LOSS):
        yield f"ratio to the best peer {found:.2f}, where it was {known:.2f}"


def compare_rows(rows: Mapping[str, Any], before: Mapping[str, Any]) -> list[str]:
    """A line for each row that is wrong, failed, or fell behind."""
    found: list[str] = []
    for name, row in rows.items():
        said = [*find_faults(row), *find_regressions(row, before.get(name, {}))]
        found += [f"{name}: {each}" for each in said]
    return found
