"""Canonical texts of programs: what they depend on, and programs without one."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import (
    DenseResourceAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    f32,
)
from xdsl.irdl import IRDLOperation, irdl_op_definition

from tlf.compiler.api.compiled_program import read_verified_program
from tlf.compiler.backends.canonical_text import (
    UncachedProgramError,
    write_canonical_text,
)
from tlf.dialects.graph.constant import SideFileAttr

PROGRAM = """
func.func @f(%x: tensor<2xf32>, %y: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %c = graph.constant dense<[0.5, 0x7FC00001]> : tensor<2xf32>
  %s = graph.add %x, %c : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %s, %y : tensor<2xf32>, tensor<2xf32>
}
"""


def canonical(text: str, has_locations: bool = False) -> str:
    module, _ = read_verified_program(text)
    return write_canonical_text(module, has_locations)


def test_names_and_locations():
    renamed = PROGRAM.replace("%x", "%first").replace("%c", "%long_name")
    assert canonical("\n" + renamed) == canonical(PROGRAM)
    assert canonical("\n" + PROGRAM, True) != canonical(PROGRAM, True)
    assert canonical(renamed, True) == canonical(PROGRAM, True)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0x7FC00001", "0x7FC00002"),
        ("0.5", "-0.5"),
        ("@f", "@g"),
        ("graph.add %x", "graph.add %y"),
        ("return %s, %y", "return %y, %s"),
        ("graph.add", "graph.sub"),
    ],
)
def test_changes(old: str, new: str):
    assert canonical(PROGRAM.replace(old, new)) != canonical(PROGRAM)


def test_constants_are_digests():
    elements = ", ".join(["0.25"] * 1000)
    text = PROGRAM.replace("dense<[0.5, 0x7FC00001]> : tensor<2xf32>", "$")
    text = text.replace("$", f"dense<[{elements}]> : tensor<1000xf32>")
    text = text.replace("add %x, %c", "add %x, %x")
    assert len(canonical(text)) < len(canonical(PROGRAM)) + 100


@pytest.mark.parametrize(
    "attribute",
    [
        SideFileAttr("side.npz", "c"),
        DenseResourceAttr.from_params("c", TensorType(f32, [2])),
    ],
)
def test_elements_elsewhere(attribute: SideFileAttr | DenseResourceAttr):
    module = ModuleOp([], {"constant": attribute, "name": StringAttr("m")})
    with pytest.raises(UncachedProgramError, match="are not in it"):
        write_canonical_text(module, False)


@irdl_op_definition
class PluginOp(IRDLOperation):
    """Operation of another package."""

    name = "plugin.op"


def test_operations_of_plugins():
    with pytest.raises(UncachedProgramError, match=r"plugin.op is an operation of a"):
        write_canonical_text(ModuleOp([PluginOp()]), False)
