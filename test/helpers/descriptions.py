"""Target descriptions of small chips, as text."""

from pathlib import Path

LEVEL = """
[[levels]]
name = "L{number}"
kind = "buffer"
capacity = {capacity}
bandwidth = 64
latency = {number}
burst = 32
alignment = 32
"""

ENGINES = """
[engines.matrix]
rows = 4
cols = 4
startup = 2
cycles = { f32 = 1 }

[engines.vector]
lanes = 16
transcendental = 2
startup = 1
"""


def chip(*capacities: int, head: str = 'name = "mine"', tail: str = ENGINES) -> str:
    """
    Return the description of an NPU with levels of the given capacities, from L1 on.
    """
    levels = [
        LEVEL.format(number=number, capacity=capacity)
        for number, capacity in enumerate(capacities, 1)
    ]
    return "\n".join([head, *levels, tail])


def written(folder: Path, text: str) -> str:
    """Write a description to a file, and return its name."""
    path = folder / "chip.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)
