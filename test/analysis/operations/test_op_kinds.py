"""Operations that are alike have one number."""

from differential import parsed

from tlf.analysis.operations.op_kinds import OpKinds

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
