"""Chips with much faster indexed moves than comparisons."""

from collections.abc import Callable
from pathlib import Path

from indexed_programs import DTYPES

from tlf.dialects.target.description import PRESETS

CHIPS = ("npu-tiny", "u85-like", "bm1684x-like", "npu-4core")

NPU_TYPES = [name for name in DTYPES if name != "f64"]


def slow_chip(folder: Path) -> Callable[..., str]:
    """
    Return a function that writes the description of a slow chip, and returns its path.

    The engine has one lane, so that comparisons take much longer than moves and atomic
    operations, and memories and launches have no latency.
    """

    def slow(name: str, row: str = "indexed_row = 0", sorts: int = 4096) -> str:
        text = (PRESETS / f"{name}.toml").read_text()
        figures = {
            "lanes": "lanes = 1",
            "latency": "latency = 0",
            "launch": "launch = 0",
            "atomics": "atomics = 1000000",
            "indexed_row": row,
            "sorts": f"sorts = {sorts}",
        }
        lines = [
            figures.get(line.partition(" ")[0], line) for line in text.splitlines()
        ]
        path = folder / f"{name}.toml"
        path.write_text("\n".join(lines))
        return str(path)

    return slow
