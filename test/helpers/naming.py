"""The rules for names, as functions of source text."""

from __future__ import annotations

import ast
from collections.abc import Iterator

IRREGULAR = frozenset(
    """
    been begun bent borne borrowed bought bound broken brought built caught chosen cut
    dealt done drawn driven fallen fed felt forgotten found frozen given gone got grown
    held hidden hung kept known laid lain led left lent lit lost made meant met overlaid
    paid proven put rebuilt retaken rewritten ridden risen said seen sent set sewn shed
    shown shrunk shut slept slid sold sought spent split spread sprung spun stood strewn
    struck stuck sunk swept swollen taken taught thought thrown told torn understood
    undone withdrawn withheld won worn wound woven written
    """.split()
)
"""Irregular past participles."""

IMPERATIVES = frozenset(
    "bound cut found left lit put set shed split spread wound".split()
)
"""Those of them that are the base form of a verb, too."""

NOUNS = frozenset(
    "bed bleed breed creed deed embed feed greed heed need reed seed speed".split()
)
"""Words that end as participles do."""


def is_participle(name: str) -> bool:
    """Return `True` if a name is one past participle, whatever its underscores."""
    word = name.strip("_")
    if word in NOUNS or "_" in word:
        return False
    return word.endswith("ed") or word in IRREGULAR - IMPERATIVES


def participle_functions(source: str) -> list[str]:
    """Names of the functions of a module that are bare participles."""
    return [
        node.name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and is_participle(node.name)
    ]


def public_classes(source: str) -> Iterator[str]:
    """Names of the public classes of a module."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name
