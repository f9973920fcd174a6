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

    The engine has one lane, so that comparisons take much longer than moves, and the
    memories have no latency.
    """

    def slow(name: str, row: str = "indexed_row = 0") -> str:
        text = (PRESETS / f"{name}.toml").read_text()
        lines = [
            "lanes = 1"
            if line.startswith("lanes")
            else "latency = 0"
            if line.startswith("latency")
            else row
            if line.startswith("indexed_row")
            else line
            for line in text.splitlines()
        ]
        path = folder / f"{name}.toml"
        path.write_text("\n".join(lines))
        return str(path)

    return slow
