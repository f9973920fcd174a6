"""Dead operations are those of xDSL, which is asked only if there are any."""

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Region
from xdsl.transforms.dead_code_elimination import is_trivially_dead, region_dce

from tlf.compiler.driver.driver import new_context, parse_module
from tlf.compiler.driver.source import Source
from tlf.dialects import dead_operations
from tlf.dialects.dead_operations import (
    erase_dead_operations,
    has_uses,
    is_dead,
)

LIVE = '"test.op"(%x) : (f32) -> ()'
CHAIN = "%a = arith.negf %x : f32 %b = arith.negf %a : f32"
LOOP = """
    %zero = arith.constant 0 : index
    scf.for %i = %zero to %zero step %zero { %y = arith.negf %x : f32 }
"""
DEAD_IN_LIVE_LOOP = """
    %zero = arith.constant 0 : index
    scf.for %i = %zero to %zero step %zero {
      %y = arith.negf %x : f32
      "test.op"() : () -> ()
    }
"""
BUFFER = """
    %zero = arith.constant 0 : index
    scf.for %i = %zero to %zero step %zero {
      %b = memref.alloc() : memref<f32>
      %c = memref.load %b[] : memref<f32>
    }
    scf.for %i = %zero to %zero step %zero {
      %d = memref.alloc() : memref<f32>
      memref.store %x, %d[] : memref<f32>
    }
"""
UNREACHABLE = "cf.br ^end ^lost: cf.br ^end ^end:"


def parse_function(body: str) -> ModuleOp:
    text = f"func.func @f(%x: f32) {{ {body} func.return }}"
    return parse_module(new_context(True), Source(text, "function"))


@pytest.mark.parametrize(
    "body", [LIVE, CHAIN, LOOP, DEAD_IN_LIVE_LOOP, UNREACHABLE, CHAIN + LIVE]
)
def test_dead_operations_are_those_of_xdsl(body: str):
    expected, actual = parse_function(body), parse_function(body)
    is_changed = region_dce(expected.body)
    assert erase_dead_operations(actual.body) == is_changed
    assert str(actual) == str(expected)
    assert is_changed == (body != LIVE)


@pytest.mark.parametrize("body", [LIVE, CHAIN, LOOP, DEAD_IN_LIVE_LOOP, BUFFER])
def test_operations_are_dead_as_in_xdsl(body: str):
    operations = list(parse_function(body).walk())
    are_dead = [is_dead(op) for op in operations]
    assert are_dead == [is_trivially_dead(op) for op in operations]
    assert any(are_dead) == (body != LIVE)


def test_live_modules_are_not_analyzed(monkeypatch: pytest.MonkeyPatch):
    def fail(region: Region, listener: object = None) -> bool:
        raise AssertionError("expected no analysis of live operations")

    monkeypatch.setattr(dead_operations, "region_dce", fail)
    used = "%a = arith.negf %x : f32 " + '"test.op"(%a) : (f32) -> ()'
    assert not erase_dead_operations(parse_function(used).body)
    with pytest.raises(AssertionError, match="expected no analysis"):
        erase_dead_operations(parse_function(CHAIN).body)


def test_uses_of_any_result_count():
    module = parse_function(CHAIN)
    is_used = {op.name: has_uses(op) for op in module.walk() if op.results}
    assert is_used == {"arith.negf": False}
    first, *_ = (op for op in module.walk() if op.results)
    assert has_uses(first)
