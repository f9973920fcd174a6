"""Operations that are alike have one number."""

import pytest
from differential import parsed
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    TensorType,
    f32,
    i1,
)
from xdsl.ir import Attribute

from tlf.analysis.operations.op_kinds import OpKinds, text_of_attribute

TEXT = """
func.func @main(%a: tensor<4x8xf32>, %b: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = graph.relu %a : tensor<4x8xf32>
  %1 = graph.relu %0 : tensor<4x8xf32>
  %2 = graph.transpose %1 permutation [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %3 = graph.relu %2 : tensor<8x4xf32>
  %4 = graph.add %3, %b : tensor<8x4xf32>
  func.return %4 : tensor<8x4xf32>
}
"""


def test_copies_and_equals_share_a_number():
    _, module = parsed(TEXT)
    ops = [op for op in module.walk() if op.name.startswith("graph.")]
    first, second, moved, other, total = ops
    kinds = OpKinds()
    numbers = [kinds.kind_of(each) for each in (first, moved, other, total)]
    assert kinds.kind_of(second) == kinds.kind_of(first) == kinds.kind_of(first.clone())
    assert len(set(numbers)) == len(numbers)


def test_properties_count():
    _, one = parsed(TEXT)
    _, other = parsed(TEXT.replace("[1, 0]", "[0, 1]").replace("8x4", "4x8"))
    kinds = OpKinds()
    transposes = [
        kinds.kind_of(op)
        for module in (one, other)
        for op in module.walk()
        if op.name == "graph.transpose"
    ]
    assert transposes[0] != transposes[1]


NUMBERS = TensorType(f32, [2])

TEXTS: list[tuple[Attribute, bool]] = [
    (FloatAttr(0.0, f32), True),
    (FloatAttr(-0.0, f32), True),
    (FloatAttr(1.0, f32), True),
    (IntegerAttr(1, i1), True),
    (NUMBERS, True),
    (DenseIntOrFPElementsAttr.from_list(NUMBERS, [1.0, -0.0]), False),
]


@pytest.mark.parametrize(("attribute", "is_cached"), TEXTS, ids=str)
def test_texts_are_printed_once_unless_large(
    attribute: Attribute, is_cached: bool, monkeypatch: pytest.MonkeyPatch
):
    text = str(attribute)
    assert text_of_attribute(attribute) == text

    def print_again(_: Attribute) -> str:
        return "printed again"

    monkeypatch.setattr(type(attribute), "__str__", print_again)
    assert text_of_attribute(attribute) == (text if is_cached else "printed again")
