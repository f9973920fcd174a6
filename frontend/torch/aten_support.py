"""
Import of ATen operations from PyTorch: table of the core operations that can be
imported, as a page of the manual.

    python -m tlf.frontend.torch.aten_support > docs/aten.md

With `--converted`, list the names of all operations with a converter, one per line:

    python -m tlf.frontend.torch.aten_support --converted > test/frontend/converted.txt
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import torch

from tlf.frontend.torch.decompositions import all_decompositions
from tlf.frontend.torch.registry import CONVERTERS, find_aten_overload

HEADER = """\
# Operations of PyTorch

What becomes of the operations of core ATen, as PyTorch {version} lists them. Made by
`python -m tlf.frontend.torch.aten_support`.

- *converted*: by a function in `frontend/torch/aten/`.
- *decomposed*: by PyTorch itself, into operations that may be converted in turn.
- *no*: a program with it cannot be imported; `torch.compile` leaves it to PyTorch.

Outside of core ATen, {others} more operations are converted, and whatever PyTorch
decomposes is decomposed.

| operation | |
|---|---|
"""


def core_operations() -> Iterator[Any]:
    """
    Yield the overloads of ATen that PyTorch tags as core, converted or not, by name.
    """
    library: Any = torch
    registered: list[str] = library._C._dispatch_get_all_op_names()
    for name in sorted(registered):
        namespace, _, name_in_namespace = name.partition("::")
        if (
            namespace == "aten"
            and torch.Tag.core
            in (operation := find_aten_overload(name_in_namespace)).tags
        ):
            yield operation


def import_kind_of(operation: Any) -> str:
    """Return the kind of import of an operation: `converted`, `decomposed` or `no`."""
    if operation in CONVERTERS:
        return "converted"
    return "decomposed" if operation in all_decompositions() else "no"


def format_support_page() -> str:
    """Return the page of the manual with a table of core operations, as Markdown."""
    core = list(core_operations())
    others = len(set(CONVERTERS) - set(core))
    rows = [
        f"| `{str(each).removeprefix('aten.')}` | {import_kind_of(each)} |"
        for each in core
    ]
    version = ".".join(torch.__version__.split(".")[:2])
    return HEADER.format(version=version, others=others) + "\n".join(rows) + "\n"


def format_converted_operations() -> str:
    """Return the names of all operations with a converter, one per line."""
    names = sorted(str(each).removeprefix("aten.") for each in CONVERTERS)
    return "".join(f"{name}\n" for name in names)


if __name__ == "__main__":
    print(
        format_converted_operations()
        if sys.argv[1:] == ["--converted"]
        else format_support_page(),
        end="",
    )
