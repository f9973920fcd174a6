"""Undefined elements that reach a result: the reference names what left them so."""

import re

import numpy as np
import pytest

from tlf.compiler.driver.diagnostics import CompileError, locate_errors
from tlf.compiler.driver.driver import new_context, parse_module
from tlf.compiler.driver.source import Source
from tlf.dialects.interfaces import Array
from tlf.dialects.interpreters.interpret import interpret_poison_free

DTYPES = {"f32": "float32", "f16": "float16", "i32": "int32", "i1": "bool"}


def run(text: str, **inputs: Array) -> tuple[Array, ...]:
    module = parse_module(new_context(), Source(text, "f.mlir"))
    module.verify()
    with locate_errors(module, "the reference"):
        return interpret_poison_free(module, inputs)


def refused(text: str, message: str, **inputs: Array) -> None:
    """Check that the reference refuses a program, at the operation that says so."""
    line = text[: text.index("// here")].count("\n") + 1
    with pytest.raises(
        CompileError, match=rf"^f\.mlir:{line}:\d+: error: .*{re.escape(message)}"
    ):
        run(text, **inputs)


GAP = """
func.func @f(%x: tensor<8xELEMENT>) -> tensor<8xELEMENT> {
  %e = tile.empty : tensor<8xELEMENT> // here
  %y = tile.while (%i = 0 to 8 step STEP) parallel into(%o = %e : tensor<8xELEMENT>) {
    %t = tile.slice %x[%i] : tensor<8xELEMENT> -> tensor<2xELEMENT, #tile.encoding<L1>>
    %d = tile.deslice %t into %o[%i]
        : tensor<2xELEMENT, #tile.encoding<L1>> into tensor<8xELEMENT>
    tile.yield %d : tensor<8xELEMENT>
  }
  func.return %y : tensor<8xELEMENT>
}
"""


@pytest.mark.parametrize("element", DTYPES)
def test_tiles_that_leave_gaps(element: str):
    x = np.ones(8, DTYPES[element])
    text = GAP.replace("ELEMENT", element)
    (found,) = run(text.replace("STEP", "2"), x=x)
    np.testing.assert_array_equal(found, x)
    refused(
        text.replace("STEP", "4"), "got y[2], which depends on an element that", x=x
    )


OUTSIDE = """
func.func @f(%x: tensor<5xELEMENT>, %i: index) -> tensor<4xELEMENT> {
  %a = tile.slice %x[0] : tensor<5xELEMENT> -> tensor<4xELEMENT, #tile.encoding<L1>>
  %b = tile.slice %x[%i] FILL // here
      : tensor<5xELEMENT> -> tensor<4xELEMENT, #tile.encoding<L1>>
  %y = graph.add %a, %b : (tensor<4xELEMENT, #tile.encoding<L1>>,
      tensor<4xELEMENT, #tile.encoding<L1>>) -> tensor<4xELEMENT, #tile.encoding<L1>>
  %z = tile.slice %y[0] : tensor<4xELEMENT, #tile.encoding<L1>> -> tensor<4xELEMENT>
  func.return %z : tensor<4xELEMENT>
}
"""


@pytest.mark.parametrize("element", ["f32", "f16", "i32"])
def test_slices_without_a_fill(element: str):
    x, far = np.ones(5, DTYPES[element]), np.array(3)
    number = "1" if element == "i32" else "1.0"
    text = OUTSIDE.replace("ELEMENT", element)
    filled = text.replace("FILL", f"fill {number} : {element}")
    (found,) = run(filled, x=x, i=far)
    np.testing.assert_array_equal(found, x[:4] + 1)
    bare = text.replace("FILL", "")
    run(bare, x=x, i=np.array(1))
    refused(
        bare, "got z[2], which depends on an element outside of its source", x=x, i=far
    )


def test_products_of_undefined_elements():
    """Of two operations that leave elements undefined, the later one is told of."""
    text = OUTSIDE.replace("%x[0]", "%x[%i]").replace("FILL", "")
    text = text.replace("graph.add", "graph.mul").replace("ELEMENT", "f32")
    refused(text, "got z[2]", x=np.ones(5, np.float32), i=np.array(3))


def test_nan_that_is_computed():
    """Also where elements are undefined that no result depends on."""
    text = GAP.replace("ELEMENT", "f32").replace("STEP", "2")
    x = np.full(8, np.nan, np.float32)
    (found,) = run(text, x=x)
    assert np.isnan(found).all()


BUFFERS = """
func.func @f(%x: memref<4xELEMENT, "L3">, %y: memref<4xELEMENT, "L3">)
    attributes {tlf.results = 1 : i64} {
  %a = mem.alloc : memref<4xELEMENT, "L1"> ALLOC
  %t = mem.dma %x[IN] to %a[0] size [SIZE] FILL // dma
      : memref<4xELEMENT, "L3"> to memref<4xELEMENT, "L1">
  mem.wait %t
  %u = mem.dma %a[0] to %y[0] size [4] // out
      : memref<4xELEMENT, "L1"> to memref<4xELEMENT, "L3">
  LAST
  func.return
}
"""


def buffers(element: str, at: str, **words: str) -> str:
    text = BUFFERS.replace("ELEMENT", element).replace(f"// {at}", "// here")
    usual = {"IN": "0", "SIZE": "4", "FILL": "", "LAST": "mem.wait %u", "ALLOC": ""}
    for word, value in (usual | words).items():
        text = text.replace(word, value)
    return text


@pytest.mark.parametrize("element", ["f32", "f16", "i32"])
def test_buffers(element: str):
    x = np.arange(4).astype(DTYPES[element])
    seven = "7" if element == "i32" else "7.0"
    (found,) = run(buffers(element, ""), x=x)
    np.testing.assert_array_equal(found, x)
    (found,) = run(buffers(element, "", IN="2", FILL=f"fill {seven}"), x=x)
    np.testing.assert_array_equal(found, [2, 3, 7, 7])
    got = "got y[2], which depends on an element"
    outside = buffers(element, "dma", IN="2")
    refused(outside, f"{got} outside of its source, for which it has no fill", x=x)
    unwritten = buffers(element, "", SIZE="2", ALLOC="// here")
    refused(unwritten, f"{got} that is never written", x=x)
    unawaited = buffers(element, "out", LAST="")
    refused(unawaited, "got y[0], which depends on an element that no `mem.wait`", x=x)


def test_results_that_nothing_writes():
    text = """func.func @f(%y: memref<4xf32, "L3">) attributes {tlf.results = 1 : i64} {
      // here
      func.return
    }"""
    with pytest.raises(CompileError, match=r"^f\.mlir:1:1: .* that is never written"):
        run(text)
