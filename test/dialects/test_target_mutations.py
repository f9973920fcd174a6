"""Presets with one field damaged: taken, or refused in one line that says where."""

from __future__ import annotations

import copy
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, cast

import pytest
from xdsl.utils.exceptions import DiagnosticException

from tlf.compiler.backends.backends import CompilingBackend
from tlf.compiler.driver.diagnostics import CompileError
from tlf.compiler.driver.driver import new_context, parse_module
from tlf.compiler.driver.source import Source
from tlf.dialects.target import (
    DescriptionError,
    TargetSpec,
    load_target_spec,
    preset_names,
)
from tlf.dialects.target.description import PRESETS
from tlf.dialects.target.setting_parsing import MAX_COUNT

Steps: TypeAlias = tuple[str | int, ...]

PROGRAM = """
func.func @f(%x: tensor<5x3xf32>, %w: tensor<3x4xf32>) -> tensor<5x4xf32> {
  %0 = graph.matmul %x, %w : (tensor<5x3xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  %y = graph.exp %0 : tensor<5x4xf32>
  func.return %y : tensor<5x4xf32>
}
"""

VALUES: Mapping[str, Any] = {
    "zero": 0,
    "one": 1,
    "negative": -1,
    "half": 0.5,
    "huge": 10**30,
    "most": MAX_COUNT,
    "infinite": float("inf"),
    "text": "L9",
    "flag": True,
    "array": [1, 2],
    "table": {"a": 1},
}
DAMAGES = ("delete", "misspell", *VALUES)


def paths(data: object, path: Steps = ()) -> Iterator[Steps]:
    """The paths of all values in a description."""
    if path:
        yield path
    if isinstance(data, dict):
        for key, each in cast("dict[str, object]", data).items():
            yield from paths(each, (*path, key))
    elif isinstance(data, list):
        for number, each in enumerate(cast("list[object]", data)):
            yield from paths(each, (*path, number))


def damaged(data: Mapping[str, Any], path: Steps, damage: str) -> dict[str, Any]:
    """A description with one value deleted, misspelt or replaced."""
    whole: Any = copy.deepcopy(data)
    inner = whole
    for step in path[:-1]:
        inner = inner[step]
    last = path[-1]
    if damage == "delete":
        del inner[last]
    elif damage == "misspell":
        if isinstance(last, str):
            inner[f"{last[:-1]}_"] = inner.pop(last)
    else:
        inner[last] = VALUES[damage]
    return whole


def toml(data: object) -> str:
    """A value as TOML, on one line."""
    match data:
        case bool():
            return str(data).lower()
        case str():
            return f'"{data}"'
        case Mapping():
            table = cast("Mapping[str, object]", data)
            return f"{{ {', '.join(f'{k} = {toml(v)}' for k, v in table.items())} }}"
        case Sequence():
            return f"[{', '.join(toml(each) for each in cast('list[object]', data))}]"
        case _:
            return str(data)


def taken(folder: Path, data: Mapping[str, Any]) -> TargetSpec | None:
    """The target of a description, or None where it is refused as it has to be."""
    path = folder / "chip.toml"
    text = "\n".join(f"{key} = {toml(value)}" for key, value in data.items())
    path.write_text(text, encoding="utf-8")
    try:
        return load_target_spec(str(path))
    except DescriptionError as error:
        found = error
    message, lines = str(found), text.split("\n")
    assert re.match(rf"{re.escape(str(path))}:\d+:\d+: error: [a-z]", message)
    assert "\n" not in message
    assert 0 < found.line <= len(lines), message
    assert 0 < found.column <= len(lines[found.line - 1]) + 1, message
    return None


def described(preset: str) -> dict[str, Any]:
    return tomllib.loads((PRESETS / f"{preset}.toml").read_text(encoding="utf-8"))


def compile_on(target: TargetSpec) -> None:
    """Compile a program on a target, or be told in one line why not."""
    context = new_context()
    module = parse_module(context, Source(PROGRAM, "program.mlir"))
    backend = CompilingBackend(target, None, Path())
    try:
        backend.build(context, module, backend.lower(context, module))
    except (CompileError, DiagnosticException) as error:
        message = str(error)
    else:
        return
    assert "internal error" not in message, message
    assert "\n" not in message, message


@pytest.mark.one_in(13)
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("preset", preset_names())
def test_descriptions_with_a_damaged_field(tmp_path: Path, preset: str, damage: str):
    data = described(preset)
    assert taken(tmp_path, data) is not None
    for path in paths(data):
        target = taken(tmp_path, damaged(data, path, damage))
        is_misspelt = damage == "misspell" and isinstance(path[-1], str)
        assert target is None or not is_misspelt, path


@pytest.mark.one_in(40)
@pytest.mark.parametrize(
    ("preset", "path"),
    [
        (preset, path)
        for preset in ("npu-tiny", "npu-4core", "h200")
        for path in paths(described(preset))
    ],
)
def test_programs_on_a_damaged_description(tmp_path: Path, preset: str, path: Steps):
    for damage in DAMAGES:
        target = taken(tmp_path, damaged(described(preset), path, damage))
        if target is not None:
            compile_on(target)
