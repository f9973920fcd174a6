"""
Which operations of core ATen can be imported, as a table.

    python -m tlf.frontend.torch.support > docs/aten.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from tlf.frontend.torch.decompositions import decompositions
from tlf.frontend.torch.registry import CONVERTERS

HEADER = """\
# Operations of PyTorch

What becomes of the operations of core ATen, as PyTorch {version} lists them. Made by
`python -m tlf.frontend.torch.support`.

- *converted*: by a function in `frontend/torch/aten/`.
- *decomposed*: by PyTorch itself, into operations that may be converted in turn.
- *no*: a program with it cannot be imported; `torch.compile` leaves it to PyTorch.

Outside of core ATen, {others} more operations are converted, and whatever PyTorch
decomposes is decomposed.

| operation | |
|---|---|
"""


def core_operations() -> Iterator[Any]:
    """The overloads that PyTorch counts as core ATen, by name."""
    library: Any = torch.ops.aten
    for name in sorted(dir(library)):
        packet = getattr(library, name)
        for variant in packet.overloads() if hasattr(packet, "overloads") else ():
            overload = getattr(packet, variant)
            if torch.Tag.core in overload.tags:
                yield overload


def support_of(overload: Any) -> str:
    """How an operation is imported."""
    if overload in CONVERTERS:
        return "converted"
    return "decomposed" if overload in decompositions() else "no"


def page() -> str:
    """The table, as a page of the manual."""
    core = list(core_operations())
    others = len(set(CONVERTERS) - set(core))
    rows = [
        f"| `{str(each).removeprefix('aten.')}` | {support_of(each)} |" for each in core
    ]
    version = ".".join(torch.__version__.split(".")[:2])
    return HEADER.format(version=version, others=others) + "\n".join(rows) + "\n"


if __name__ == "__main__":
    print(page(), end="")
