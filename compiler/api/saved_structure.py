"""
API: nested containers of a call in the file of a saved program. Only containers of
Python are stored, so that loading imports and calls nothing that the file names.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from torch.utils import _pytree as pytree

_LEAF = object()

_SEQUENCES: Mapping[str, type[list[Any] | tuple[Any, ...]]] = {
    "list": list,
    "tuple": tuple,
}
_DICTIONARIES: Mapping[str, type[dict[Any, Any]]] = {
    "dict": dict,
    "OrderedDict": OrderedDict,
}


@dataclass(frozen=True)
class SavedStructure:
    """A container with its parts, or a leaf."""

    kind: Literal["leaf", "list", "tuple", "dict", "OrderedDict"]
    keys: tuple[str | int, ...] = ()
    """Keys of a dictionary, in order."""
    parts: tuple[SavedStructure, ...] = ()


def encode_structure(spec: pytree.TreeSpec) -> SavedStructure:
    """Return a structure for a file. Raises `TypeError` for containers of users."""
    return _encode(pytree.tree_unflatten([_LEAF] * spec.num_leaves, spec))


def decode_structure(saved: SavedStructure) -> pytree.TreeSpec:
    """Return the structure of a file."""
    return pytree.tree_structure(_decode(saved))


def _encode(tree: object) -> SavedStructure:
    """Return the structure of containers whose leaves are `_LEAF`."""
    if tree is _LEAF:
        return SavedStructure("leaf")
    kind: Any = type(tree).__name__
    if type(tree) is _SEQUENCES.get(kind):
        parts = cast(Sequence[object], tree)
        return SavedStructure(kind, (), tuple(map(_encode, parts)))
    if type(tree) is not _DICTIONARIES.get(kind):
        raise TypeError(f"expected lists, tuples and dictionaries, got {kind}")
    table = cast(Mapping[Any, object], tree)
    for key in table:
        if type(key) not in (str, int):
            name = type(key).__name__
            raise TypeError(f"expected keys that are texts or integers, got {name}")
    return SavedStructure(kind, tuple(table), tuple(map(_encode, table.values())))


def _decode(saved: SavedStructure) -> object:
    """Return containers with leaves."""
    if saved.kind == "leaf":
        return _LEAF
    parts = map(_decode, saved.parts)
    if saved.kind in _SEQUENCES:
        return _SEQUENCES[saved.kind](parts)
    return _DICTIONARIES[saved.kind](zip(saved.keys, parts, strict=True))
