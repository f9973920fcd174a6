"""Arguments and results in their physical shapes, for callers in their logical ones."""

from __future__ import annotations

import numpy as np
import pytest
from differential import new_context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.entry_point import argument_types, find_entry_point
from tlf.dialects.interpreters.interpret import interpret_poison_free
from tlf.dialects.io_layout_attributes import (
    get_argument_layouts,
    set_argument_layouts,
    set_result_layouts,
)
from tlf.dialects.physical_axes_attribute import (
    get_argument_axes,
    get_result_axes,
    set_result_axes,
)

TENSORS = """
func.func @f(%x: tensor<4x2x3xf32> {tlf.physical_axes = array<i64: 2, 0, 1>},
             %y: tensor<4x2x3xf32>)
    -> (tensor<4x2x3xf32> {tlf.physical_axes = array<i64: 2, 0, 1>},
        tensor<4x2x3xf32>) {
  %0 = graph.sub %x, %y : tensor<4x2x3xf32>
  func.return %0, %0 : tensor<4x2x3xf32>, tensor<4x2x3xf32>
}
"""

BUFFERS = """
func.func @f(%x: memref<3x2xf32, "L3"> {tlf.physical_axes = array<i64: 1, 0>},
             %r: memref<3x2xf32, "L3"> {tlf.physical_axes = array<i64: 1, 0>})
    attributes {tlf.results = 1 : i64} {
  %v = mem.load %x[0, 0] size [3, 2] : memref<3x2xf32, "L3"> -> tensor<3x2xf32>
  mem.store %v to %r[0, 0] : tensor<3x2xf32> to memref<3x2xf32, "L3">
  func.return
}
"""


def parse(text: str) -> ModuleOp:
    return Parser(new_context(), text).parse_module()


def test_callers_know_logical_shapes() -> None:
    module = parse(TENSORS)
    types = argument_types(find_entry_point(module))
    assert [each.get_shape() for each in types] == [(2, 3, 4), (4, 2, 3)]
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    y = np.ones((4, 2, 3), np.float32)
    first, second = interpret_poison_free(module, {"x": x, "y": y})
    np.testing.assert_array_equal(first, x - 1)
    np.testing.assert_array_equal(second, (x - 1).transpose(2, 0, 1))


def test_results_in_arguments() -> None:
    module = parse(BUFFERS)
    function = find_entry_point(module)
    assert get_argument_axes(function) == [(1, 0), (1, 0)]
    assert get_result_axes(function) == []
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    (found,) = interpret_poison_free(module, {"x": x})
    np.testing.assert_array_equal(found, x)


def test_attributes_are_set_by_index() -> None:
    function = find_entry_point(parse(TENSORS))
    set_argument_layouts(function, {1: (0, 2, 1)})
    assert get_argument_layouts(function) == [None, (0, 2, 1)]
    set_argument_layouts(function, {1: None})
    assert get_argument_layouts(function) == [None, None]
    assert get_argument_axes(function) == [(2, 0, 1), None]


def test_results_without_attributes_get_some() -> None:
    """Results may have been added to a function after its attributes."""
    function = find_entry_point(parse(TENSORS))
    function.res_attrs = None
    set_result_layouts(function, {})
    assert function.res_attrs is None
    set_result_axes(function, {1: (1, 0, 2)})
    assert get_result_axes(function) == [None, (1, 0, 2)]


@pytest.mark.parametrize("axes", ["array<i64: 0, 0>", "array<i64: 0>", '"any"'])
def test_axes_are_verified(axes: str) -> None:
    text = BUFFERS.replace("array<i64: 1, 0>}", f"{axes}}}", 1)
    message = (
        "`tlf.physical_axes` of argument 0 to order 2 axes, each once, as in .* got"
    )
    with pytest.raises(VerifyException, match=message):
        get_argument_axes(find_entry_point(parse(text)))
