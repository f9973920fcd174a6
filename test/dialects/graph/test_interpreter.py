"""Programs of graph operations, run by the reference interpreter."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from xdsl.interpreter import Interpreter
from xdsl.interpreters.func import FuncFunctions
from xdsl.parser import Parser
from xdsl.utils.exceptions import DiagnosticException

from tlf.compiler.driver.driver import new_context
from tlf.dialects import graph
from tlf.dialects.graph.side_file_arrays import compute_digest
from tlf.dialects.interfaces import Array
from tlf.dialects.interpreters.graph import GraphFunctions

LAYER = """
func.func @layer(%x: tensor<4x8xbf16>, %w: tensor<8x6xbf16>) -> (tensor<4x6xbf16>, tensor<4xf32>) {
  %y, %s = graph.group ins(%a = %x, %b = %w : tensor<4x8xbf16>, tensor<8x6xbf16>)
      plan #graph.plan<L1, tile [2, 6]> -> (tensor<4x6xbf16>, tensor<4xf32>) {
    %0 = graph.matmul %a, %b : (tensor<4x8xbf16>, tensor<8x6xbf16>) -> tensor<4x6xbf16>
    %1 = graph.relu %0 : tensor<4x6xbf16>
    %2 = graph.reduce %1 <sum> axes [1] : (tensor<4x6xbf16>) -> tensor<4xf32>
    graph.yield %1, %2 : tensor<4x6xbf16>, tensor<4xf32>
  }
  func.return %y, %s : tensor<4x6xbf16>, tensor<4xf32>
}
"""  # noqa: E501


def run(program: str, name: str, *arguments: Array) -> tuple[Array, ...]:
    module = Parser(new_context(), program).parse_module()
    module.verify()
    interpreter = Interpreter(module)
    interpreter.register_implementations(FuncFunctions())
    interpreter.register_implementations(GraphFunctions())
    return interpreter.call_op(name, arguments)


def test_group():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((4, 8)).astype(ml_dtypes.bfloat16)
    w = rng.standard_normal((8, 6)).astype(ml_dtypes.bfloat16)
    y, total = run(LAYER, "layer", x, w)

    product = np.matmul(x.astype(float), w.astype(float))
    expected = np.maximum(product, 0).astype(ml_dtypes.bfloat16)
    assert y.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(y, expected)
    exact = expected.astype(float).sum(1)
    np.testing.assert_allclose(total.astype(float), exact, rtol=1e-6)


def test_every_operation_has_an_implementation():
    methods = {name for name in vars(GraphFunctions) if name.startswith("run_")}
    names = (kind.name.removeprefix("graph.") for kind in graph.Graph.operations)
    assert methods == {f"run_{name}" for name in names}


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    """A side file with a bf16 and an f32 array."""
    rng = np.random.default_rng(1)
    path = tmp_path / "weights.npz"
    narrow = rng.standard_normal((3, 4)).astype(ml_dtypes.bfloat16)
    np.savez(path, narrow=narrow, wide=np.arange(4, dtype=np.float32))
    return path


def constant(path: Path, key: str, type_: str, sha256: str = "") -> Array:
    checked = f'sha256 "{sha256}" ' if sha256 else ""
    program = f"""
      func.func @f() -> {type_} {{
        %0 = graph.constant file "{path}" key "{key}" {checked}: {type_}
        func.return %0 : {type_}
      }}
    """
    return run(program, "f")[0]


def test_constants_of_a_side_file(weights: Path):
    stored = np.load(weights)
    narrow = constant(weights, "narrow", "tensor<3x4xbf16>")
    assert narrow.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(narrow, stored["narrow"].view(ml_dtypes.bfloat16))
    wide = constant(weights, "wide", "tensor<4xf32>", compute_digest(stored["wide"]))
    np.testing.assert_array_equal(wide, np.arange(4, dtype=np.float32))


@pytest.mark.parametrize(
    ("key", "type_", "sha256", "message"),
    [
        ("other", "tensor<4xf32>", "", "got `narrow`, `wide`"),
        ("wide", "tensor<5xf32>", "", "float32 of shape 5 in .* float32 of shape 4"),
        ("wide", "tensor<4xf16>", "", "expected float16 .* got float32"),
        ("wide", "tensor<4xf32>", "00ff", "expected sha256 00ff of `wide`"),
    ],
)
def test_constants_that_do_not_fit(
    weights: Path, key: str, type_: str, sha256: str, message: str
):
    with pytest.raises(DiagnosticException, match=message):
        constant(weights, key, type_, sha256)


def test_side_file_that_is_none(tmp_path: Path):
    path = tmp_path / "weights.npz"
    with pytest.raises(DiagnosticException, match="expected an archive of arrays"):
        constant(path, "w", "tensor<4xf32>")
    path.write_text("not an archive")
    with pytest.raises(DiagnosticException, match="expected an archive of arrays"):
        constant(path, "w", "tensor<4xf32>")


def test_a_side_file_that_changes_is_read_again(tmp_path: Path):
    path = tmp_path / "weights.npz"
    for size in (4, 4, 4):
        array = np.random.default_rng(size).random(size).astype(np.float32)
        np.savez(path, w=array)
        np.testing.assert_array_equal(constant(path, "w", "tensor<4xf32>"), array)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dense<[1.5, -2.0]> : tensor<2xf32>", np.array([1.5, -2], np.float32)),
        ("dense<1.5> : tensor<2xbf16>", np.array([1.5, 1.5], ml_dtypes.bfloat16)),
        ("dense<[true, false]> : tensor<2xi1>", np.array([True, False])),
        ("dense<-7> : tensor<i32>", np.array(-7, np.int32)),
        ("dense<0.5> : tensor<1x1xf16>", np.array([[0.5]], np.float16)),
    ],
)
def test_constants(text: str, expected: Array):
    type_ = text.split(" : ")[1]
    program = f"""
      func.func @f() -> {type_} {{
        %0 = graph.constant {text}
        func.return %0 : {type_}
      }}
    """
    (found,) = run(program, "f")
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(found, expected)
    assert graph.ConstantOp(expected).to_array().tolist() == expected.tolist()


def test_splat():
    assert (
        graph.ConstantOp(np.full((2, 3), -0.0, np.float32)).splat_attribute()
        is not None
    )
    assert graph.ConstantOp(np.array([0.0, -0.0], np.float32)).splat_attribute() is None
    assert graph.ConstantOp(np.array([1, 2], np.int32)).splat_attribute() is None
