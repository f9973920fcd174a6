"""Records of the GPU gate: results by GPU model, and regressions against them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

LOSS = 0.05
"""Share of the ratio to the fastest peer, or of the peak memory, that a row may lose"""

FACTOR, LEAST = 4.0, 1e-6
"""
Error limit of a row: `FACTOR` times PyTorch's error against f64, which counts as at
least `LEAST`; strict numerics round more often than PyTorch.
"""

TF32_ERROR = 2.0**-11
"""
Error limit of a row in which PyTorch's switches allow tf32, if that of `FACTOR` is
below: the unit roundoff of tf32. Peers choose an algorithm without tf32 for some sizes.
"""

Record = dict[str, Any]


def read_record(path: Path) -> Record:
    """Return the record in a file, or an empty record if the file is missing."""
    if not path.exists():
        return {"commit": "", "cards": {}}
    return json.loads(path.read_text(encoding="utf-8"))


def write_record(path: Path, record: Record) -> None:
    """Replace a file with a record, its rows sorted by name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(record, indent=1, sort_keys=True)
    fresh = path.with_suffix(".tmp")
    fresh.write_text(f"{text}\n", encoding="utf-8")
    fresh.replace(path)


def find_faults(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield the faults of a row on its own, as sentences."""
    if "failed" in row:
        yield f"failed: {row['failed']}"
        return
    if "example error" in row:
        return
    limit = FACTOR * max(float(row["eager error"]), LEAST)
    if row.get("switches") == "default":
        limit = max(limit, TF32_ERROR)
    for name in ("tlf error", "tlf error again"):
        if not float(row[name]) <= limit:
            yield f"{name} {row[name]:.1e}, PyTorch's {row['eager error']:.1e}"


def find_regressions(
    row: Mapping[str, Any], before: Mapping[str, Any]
) -> Iterator[str]:
    """
    Yield the regressions of a row since an earlier run on the same GPU model, as
    sentences.
    """
    fallbacks = {*row.get("left to PyTorch", ())} - {*before.get("left to PyTorch", ())}
    if fallbacks:
        yield f"left to PyTorch: {', '.join(sorted(fallbacks))}"
    memory, earlier_memory = (each.get("tlf memory MB", 0.0) for each in (row, before))
    if earlier_memory and memory > earlier_memory * (1 + LOSS) + 1:
        yield f"peak memory {memory:.0f} MB, where it was {earlier_memory:.0f} MB"
    earlier_ratio, ratio = before.get("ratio"), row.get("ratio")
    if earlier_ratio is None:
        return
    if ratio is None:
        yield f"no ratio to the best peer, where it was {earlier_ratio:.2f}"
    elif ratio < earlier_ratio * (1 - LOSS):
        yield f"ratio to the best peer {ratio:.2f}, where it was {earlier_ratio:.2f}"


def compare_rows(rows: Mapping[str, Any], before: Mapping[str, Any]) -> list[str]:
    """Return a line for each fault and regression of the rows."""
    lines: list[str] = []
    for name, row in rows.items():
        faults = [*find_faults(row), *find_regressions(row, before.get(name, {}))]
        lines += [f"{name}: {each}" for each in faults]
    return lines
