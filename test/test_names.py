"""Names of files, classes and functions keep to the rules of CONTRIBUTING.md."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest
from naming import is_participle, participle_functions, public_classes
from python_sources import FOLDERS, ROOT, sources

UNCOUNTED = {"__init__.py", "conftest.py"}


def _repeated(names: Iterable[str], limit: int) -> list[str]:
    return sorted(name for name, count in Counter(names).items() if count > limit)


def _room(file: Path) -> str:
    """The folder in which a class name is unique: of `dialects`, the dialect."""
    path = file.relative_to(ROOT).parts
    is_dialect = path[0] == "dialects" and len(path) > 2
    return "/".join(path[: 1 + is_dialect])


def test_no_file_name_stands_more_than_twice():
    names = [file.name for file in sources(*FOLDERS, "bench", "test/helpers")]
    assert _repeated([name for name in names if name not in UNCOUNTED], 2) == []
    assert _repeated(["a", "b", "a", "a", "b"], 2) == ["a"]


def test_no_public_class_name_stands_twice_in_a_folder():
    classes: dict[str, list[str]] = defaultdict(list)
    for file in sources(*FOLDERS):
        classes[_room(file)] += public_classes(file.read_text(encoding="utf-8"))
    found = {room: _repeated(names, 1) for room, names in classes.items()}
    assert {room: names for room, names in found.items() if names} == {}
    assert [*public_classes("class A: ...\nclass _B: ...")] == ["A"]


def test_no_function_is_named_by_a_participle():
    found = {
        str(file.relative_to(ROOT)): participle_functions(file.read_text())
        for file in sources(*FOLDERS, "bench")
    }
    assert {file: names for file, names in found.items() if names} == {}


@pytest.mark.parametrize("name", ["told", "_priced", "seen", "built"])
def test_participles_are_found(name: str):
    assert participle_functions(f"class A:\n    def {name}(self): ...") == [name]


@pytest.mark.parametrize("name", ["split", "set", "fused_axes", "_feed", "is_told"])
def test_verbs_and_phrases_are_none(name: str):
    assert not is_participle(name)
