"""Find cycles of imports between the children of folders."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path


def find_import_cycles(root: Path, folders: Sequence[str]) -> dict[str, list[str]]:
    """
    A cycle of the children of each folder that has one, by the name of the folder as a
    package below `tlf`. Imports inside of functions count, imports for types do not.
    """
    files = dict(modules_below(root, folders))
    children: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for module, file in files.items():
        for imported in imports_of(file, files):
            parent, source, target = _sibling_children(module, imported)
            if source != target:
                children[parent][source].add(target)
    found = {parent: _find_cycle(graph) for parent, graph in children.items()}
    return {parent: cycle for parent, cycle in found.items() if cycle}


def _find_cycle(graph: Mapping[str, set[str]]) -> list[str]:
    """The nodes of a cycle, or none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def modules_below(root: Path, folders: Sequence[str]) -> Iterator[tuple[str, Path]]:
    """The dotted name of each file below the folders, without `tlf`."""
    for folder in folders:
        for file in sorted((root / folder).rglob("*.py")):
            parts = file.relative_to(root).with_suffix("").parts
            yield ".".join(part for part in parts if part != "__init__"), file


def imported_modules(file: Path, *, at_run_time: bool = False) -> Iterator[str]:
    """
    The modules that `file` imports anywhere, `from a import b` counting as `a.b`; with
    `at_run_time` without those that are imported for types.
    """
    tree = ast.parse(file.read_text(encoding="utf-8"))
    left_out = set(_type_only_imports(tree)) if at_run_time else set[ast.AST]()
    for node in ast.walk(tree):
        match node:
            case _ if node in left_out:
                pass
            case ast.ImportFrom(module=str(module), names=names, level=0):
                yield from (f"{module}.{name.name}" for name in names)
            case ast.Import(names=names):
                yield from (name.name for name in names)
            case _:
                pass


def _type_only_imports(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for each in node.body:
                yield from ast.walk(each)


def imports_of(file: Path, known: Mapping[str, Path]) -> Iterator[str]:
    """The modules of `tlf` that a file imports at run time, without `tlf`."""
    for name in imported_modules(file, at_run_time=True):
        package, _, module = name.partition(".")
        if package == "tlf" and module:
            yield module if module in known else module.rpartition(".")[0]


def _sibling_children(module: str, imported: str) -> tuple[str, str, str]:
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
