"""Cycles of imports between the children of folders, which are files and packages."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path


def import_cycles(root: Path, folders: Sequence[str]) -> dict[str, list[str]]:
    """
    A cycle of the children of each folder that has one, by the name of the folder as a
    package below `tlf`. Imports inside of functions count, imports for types do not.
    """
    files = dict(_modules(root, folders))
    children: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for module, file in files.items():
        for imported in _imports(file, files):
            parent, source, target = _children(module, imported)
            if source != target:
                children[parent][source].add(target)
    found = {parent: _cycle(graph) for parent, graph in children.items()}
    return {parent: cycle for parent, cycle in found.items() if cycle}


def _cycle(graph: Mapping[str, set[str]]) -> list[str]:
    """The nodes of a cycle, or none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def _modules(root: Path, folders: Sequence[str]) -> Iterator[tuple[str, Path]]:
    """The dotted name of each file below the folders, without `tlf`."""
    for folder in folders:
        for file in sorted((root / folder).rglob("*.py")):
            parts = file.relative_to(root).with_suffix("").parts
            yield ".".join(part for part in parts if part != "__init__"), file


def _imports(file: Path, known: Mapping[str, Path]) -> Iterator[str]:
    """The modules that a file imports from `tlf` at run time."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for_types = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for each in node.body
        for inner in ast.walk(each)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or node in for_types:
            continue
        package, _, module = (node.module or "").partition(".")
        if package == "tlf" and module:
            names = (f"{module}.{each.name}" for each in node.names)
            yield from (name if name in known else module for name in names)


def _children(module: str, imported: str) -> tuple[str, str, str]:
    """
    The innermost folder that holds both modules, and its children that they are in; a
    package and what is in it are the same child.
    """
    left, right = module.split("."), imported.split(".")
    pairs = zip(left, right, strict=False)
    shared = next(
        (at for at, (a, b) in enumerate(pairs) if a != b), min(len(left), len(right))
    )
    parent = ".".join(left[:shared])
    if shared in (len(left), len(right)):
        return parent, module, module
    return parent, ".".join(left[: shared + 1]), ".".join(right[: shared + 1])
