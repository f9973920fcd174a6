"""Detection of import cycles between the children of folders."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path


def find_import_cycles(root: Path, folders: Sequence[str]) -> dict[str, list[str]]:
    """
    Return an import cycle of the children of each folder that has one.

    Keys are the names of folders as packages below `tlf`. Imports inside functions
    count; imports for types do not.
    """
    files = dict(modules_below(root, folders))
    children: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for module, file in files.items():
        for imported in imports_of(file, files):
            parent, source, target = _sibling_children(module, imported)
            if source != target:
                children[parent][source].add(target)
    cycles = {parent: _find_cycle(graph) for parent, graph in children.items()}
    return {parent: cycle for parent, cycle in cycles.items() if cycle}


def _find_cycle(graph: Mapping[str, set[str]]) -> list[str]:
    """Return the nodes of a cycle, or an empty list."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def modules_below(root: Path, folders: Sequence[str]) -> Iterator[tuple[str, Path]]:
    """Yield the dotted name, without `tlf`, and path of each file below the folders."""
    for folder in folders:
        for file in sorted((root / folder).rglob("*.py")):
            parts = file.relative_to(root).with_suffix("").parts
            yield ".".join(part for part in parts if part != "__init__"), file


def imported_modules(file: Path, *, at_run_time: bool = False) -> Iterator[str]:
    """
    Yield the modules that `file` imports anywhere; `from a import b` counts as `a.b`.

    With `at_run_time`, imports for types are excluded.
    """
    for name, is_for_types in _parse_imports(file.read_text(encoding="utf-8")):
        if not (at_run_time and is_for_types):
            yield name


@lru_cache(maxsize=1 << 12)
def _parse_imports(source: str) -> Sequence[tuple[str, bool]]:
    """Return the modules that a file imports, each with `True` if only for types."""
    imports = list[tuple[str, bool]]()
    pending: list[tuple[ast.AST, bool]] = [(ast.parse(source), False)]
    while pending:
        node, is_for_types = pending.pop()
        match node:
            case ast.ImportFrom(module=str(module), names=names, level=0):
                imports += [(f"{module}.{name.name}", is_for_types) for name in names]
            case ast.Import(names=names):
                imports += [(name.name, is_for_types) for name in names]
            case ast.If(test=ast.Name(id="TYPE_CHECKING"), body=body, orelse=orelse):
                pending += [(each, True) for each in body]
                pending += [(each, is_for_types) for each in orelse]
            case ast.expr():
                pass
            case _:
                pending += [(each, is_for_types) for each in ast.iter_child_nodes(node)]
    return tuple(imports)


def imports_of(file: Path, known: Mapping[str, Path]) -> Iterator[str]:
    """Yield the modules of `tlf` that a file imports at run time, without `tlf`."""
    for name in imported_modules(file, at_run_time=True):
        package, _, module = name.partition(".")
        if package == "tlf" and module:
            yield module if module in known else module.rpartition(".")[0]


def _sibling_children(module: str, imported: str) -> tuple[str, str, str]:
    """
    Return the innermost folder that contains both modules, and its child for each.

    A package and the modules in it are the same child.
    """
    left, right = module.split("."), imported.split(".")
    pairs = zip(left, right, strict=False)
    shared = next(
        (index for index, (a, b) in enumerate(pairs) if a != b),
        min(len(left), len(right)),
    )
    parent = ".".join(left[:shared])
    if shared in (len(left), len(right)):
        return parent, module, module
    return parent, ".".join(left[: shared + 1]), ".".join(right[: shared + 1])
