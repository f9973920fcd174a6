"""
Programs in generic form pass through LLVM's `mlir-opt` and come back as they were.

The tool is that of the environment variable TLF_MLIR_OPT, or one on the path.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import cast

import pytest
from differential import limit_search
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute

from tlf.compiler.driver.diagnostics import CompileError, locate_errors
from tlf.compiler.driver.driver import (
    PASSES,
    TARGETS,
    emit_text,
    new_context,
    parse_module,
)
from tlf.compiler.driver.module_verifier import verify_module
from tlf.compiler.driver.pass_manager import PassManager
from tlf.compiler.driver.pipeline import build_passes, build_target
from tlf.compiler.driver.snapshot import take_snapshot
from tlf.compiler.driver.source import Source, read_source
from tlf.dialects.target import load_target_spec
from tlf.lowering.pipelines import pipelines_for

ROOT = Path(__file__).parents[1]
NAMES = ["mlir-opt", *(f"mlir-opt-{version}" for version in range(25, 17, -1))]
SEPARATOR = "// -----\n"
EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("*.mlir"))
STAGES = [
    (name, target)
    for name in EXAMPLES
    for target in ("npu", "h200")
    if (name, target) != ("rolling_bottleneck", "h200")
]
"""Examples and targets; the rolling window is written for a target with buffers."""


def parsed(text: str, name: str) -> ModuleOp:
    """A module whose unknown operations stay as they are. Raises `CompileError`."""
    context = new_context(allow_unregistered=True)
    with locate_errors(None, "the parser"):
        return parse_module(context, Source(text, name))


def generic(module: ModuleOp) -> str:
    """The generic form of a module."""
    target = build_target("mlir", TARGETS)
    return emit_text(new_context(), module, target, print_generic_format=True)


@cache
def pieces() -> dict[str, str]:
    """The generic form of every valid program in a file, by its file and number."""
    found: dict[str, str] = {}
    files = sorted([*(ROOT / "test").rglob("*.mlir"), *(ROOT / "examples").rglob("*")])
    for path in files:
        if "Output" in path.parts or path.suffix != ".mlir":
            continue
        for number, piece in enumerate(read_source(str(path)).split_at_separators()):
            try:
                module = parsed(piece.text, path.name)
                with locate_errors(module, "verifier"):
                    verify_module(module)
            except CompileError:
                continue
            found[f"{path.relative_to(ROOT)}#{number}"] = generic(module)
    return found


def stages(name: str, target_name: str) -> Iterator[tuple[str, str]]:
    """The generic form of an example after every pass that changes it."""
    path = ROOT / "examples" / f"{name}.mlir"
    module = parsed(path.read_text(encoding="utf-8"), path.name)
    target = load_target_spec(target_name)
    target.attach_to_module(module)
    context, known, before = new_context(), take_snapshot(module), ""
    manager = PassManager(())
    pipelines = pipelines_for(target)
    passes = build_passes(f"{target.backend}-pipeline", PASSES, pipelines)
    for each in map(limit_search, passes):
        manager.passes = [each]
        manager.run(context, module)
        if (now := take_snapshot(module)) == known:
            continue
        known, after = now, generic(module)
        if after != before:
            yield f"{name} on {target_name} after {each.name}", after
        before = after


def tool() -> str | None:
    """The path of `mlir-opt`, if there is one."""
    if (named := os.environ.get("TLF_MLIR_OPT")) is not None:
        return named
    return next(filter(None, map(shutil.which, NAMES)), None)


def through(programs: dict[str, str]) -> list[str]:
    """Return the output of `mlir-opt` for programs, all in one process."""
    if (command := tool()) is None:
        pytest.skip(f"no mlir-opt: {len(programs)} programs not sent")
    options = ["--allow-unregistered-dialect", "--mlir-print-op-generic"]
    run = subprocess.run(
        [command, *options, "--split-input-file", "-"],
        input=SEPARATOR.join(programs.values()),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert run.returncode == 0, run.stderr[:2000]
    return run.stdout.split(SEPARATOR)


def same(one: ModuleOp, other: ModuleOp) -> bool:
    """
    Return `True` if two modules are equal except for names, locations and the form of
    maps.
    """
    if one.is_structurally_equivalent(other):
        return True
    return plain(one) == plain(other)


def plain(module: ModuleOp) -> str:
    """The generic form with names, the order of attributes and maps made uniform."""
    copy = module.clone()
    for op in copy.walk():
        arguments = [a for region in op.regions for b in region.blocks for a in b.args]
        for value in (*op.results, *arguments):
            value.name_hint = None
        for block in (block for region in op.regions for block in region.blocks):
            block.name_hint = None
        for table in (op.properties, op.attributes):
            ordered = {name: uniform(table[name]) for name in sorted(table)}
            table.clear()
            table.update(ordered)
    return generic(copy)


def uniform(attribute: Attribute) -> Attribute:
    """An affine map, which `mlir-opt` simplifies, as its values at some points."""
    if isinstance(attribute, ArrayAttr):
        elements = cast("ArrayAttr[Attribute]", attribute).data
        return ArrayAttr([uniform(each) for each in elements])
    if not isinstance(attribute, AffineMapAttr):
        return attribute
    map_, generator = attribute.data, random.Random(0)
    values = [
        map_.eval(
            [generator.randint(0, 99) for _ in range(map_.num_dims)],
            [generator.randint(0, 99) for _ in range(map_.num_symbols)],
        )
        for _ in range(8)
    ]
    return StringAttr(f"{map_.num_dims} {map_.num_symbols} {values}")


def check(programs: dict[str, str]) -> None:
    """Send programs through `mlir-opt`, and compare them with what comes back."""
    assert programs
    changed: list[str] = []
    for (name, text), back in zip(programs.items(), through(programs), strict=True):
        if not same(parsed(back, name), parsed(text, name)):
            changed.append(name)
    print(f"{len(programs)} programs through {tool()}, {len(changed)} changed")
    assert changed == []


def test_programs_of_files():
    check(pieces())


@pytest.mark.one_in(12)
@pytest.mark.parametrize(("name", "target"), STAGES)
def test_examples_after_every_pass(name: str, target: str):
    check(dict(stages(name, target)))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("{a = 1 : i32, b = 2 : i32}", "{b = 2 : i32, a = 1 : i32}", True),
        ("{a = 1 : i32}", "{a = 2 : i32}", False),
        (
            "{m = affine_map<(a, b) -> (a + b)>}",
            "{m = affine_map<(a, b) -> (b + a)>}",
            True,
        ),
        (
            "{m = affine_map<(a, b) -> (a + b)>}",
            "{m = affine_map<(a, b) -> (a + 1)>}",
            False,
        ),
        ("{m = affine_map<(a) -> (a)>}", "{m = affine_map<(a, b) -> (a)>}", False),
    ],
)
def test_what_comes_back_is_compared(one: str, other: str, expected: bool):
    modules = [
        parsed(f'%0 = "test.op"() {each} : () -> i32', "one.mlir")
        for each in (one, other)
    ]
    assert same(modules[0], modules[1]) == expected


def test_operands_are_compared():
    text = """
        func.func @f(%a: i32) {{
          cf.br ^last
        ^first:
          "test.op"(%{}) : (i32) -> ()
          func.return
        ^last:
          %b = "test.op"() : () -> i32
          cf.br ^first
        }}"""
    used, unused = (
        parsed(text.format("b"), "f.mlir"),
        parsed(text.format("a"), "f.mlir"),
    )
    assert same(used, parsed(text.format("b"), "f.mlir"))
    assert not same(used, unused)
