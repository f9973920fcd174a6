"""Detection of module state that changes after import."""

from __future__ import annotations

import ast
from collections.abc import Iterator

CONTAINERS = ("dict", "list", "set", "defaultdict", "Counter", "OrderedDict", "deque")
CHANGES = (
    "add append clear discard extend insert pop popitem remove setdefault update"
).split()
"""Methods that change a container."""


def changed_state(source: str) -> list[str]:
    """Return the containers of a module that it changes itself, and its globals."""
    tree = ast.parse(source)
    containers = set(_containers(tree))
    names = (name for node in ast.walk(tree) for name in _changed(node))
    return sorted({name for name in names if name in containers or name[0] == "!"})


def _containers(tree: ast.Module) -> Iterator[str]:
    """Yield the names of module variables that are dictionaries, lists or sets."""
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                pass
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                pass
            case _:
                continue
        literal = ast.Dict | ast.List | ast.Set | ast.DictComp | ast.ListComp
        constructor = (
            isinstance(value, ast.Call) and ast.unparse(value.func).partition("[")[0]
        )
        if isinstance(value, literal | ast.SetComp) or constructor in CONTAINERS:
            yield name


def _changed(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Global(names=names):
            yield from (f"!{name}" for name in names)
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)):
            if method in CHANGES:
                yield name
        case ast.Assign(targets=targets):
            yield from _items(targets)
        case ast.AugAssign(target=target):
            yield from _items([target])
        case ast.Delete(targets=targets):
            yield from _items(targets)
        case _:
            pass


def _items(targets: list[ast.expr]) -> Iterator[str]:
    """Yield the containers whose items are assigned or deleted."""
    for target in targets:
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            yield target.value.id
