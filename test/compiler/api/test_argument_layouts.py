"""Programs that take and give tensors in their own memory layouts, without copies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from kernel_pointers import record_kernel_pointers
from torch import Tensor, nn
from torch_check import Module, compiled_by_backend, tensors

import tlf
from tlf.compiler.api.torch_backend import REPORT
from tlf.compiler.api.torch_module import compile_module

T: Any = torch

pytestmark = pytest.mark.skipif(
    torch.cuda.is_available(), reason="addresses are those of the interpreter's kernels"
)

APIS = ["compile", "backend"]


def compile_with(api: str, module: Any, inputs: Sequence[Tensor]) -> Any:
    """Compile a module by `tlf.compile` or `torch.compile`, for the interpreter."""
    if api == "compile":
        return compile_module(module, tuple(inputs), target="triton")
    return compiled_by_backend(module, "triton")


def in_order(whole: Any, memory_format: Any = T.channels_last) -> Any:
    """Return a tensor or a module in a memory format."""
    return whole.to(memory_format=memory_format)


def make_block() -> Any:
    """Return a block of a residual network with its channels last."""
    return in_order(Residual().eval())


def make_images() -> list[Tensor]:
    """Return the inputs of the block."""
    return [in_order(T.randn(2, channels, 5, 6)) for channels in (3, 4)]


class Residual(nn.Module):
    """A block of a residual network."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return self.norm(self.conv(x)).relu() + y


def expect_equal(found: Any, expected: Any) -> None:
    """Compare values and strides."""
    for one, other in zip(tensors(found), tensors(expected), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
        assert one.stride() == other.stride()


def check_in_place(
    module: Any, inputs: Sequence[Tensor], api: str, also_used: Sequence[Tensor] = ()
) -> Any:
    """
    Compare a compiled module with the original, and check that kernels get the memory
    of its inputs and of its results.
    """
    with torch.no_grad():
        expected = module(*inputs)
        compiled = compile_with(api, module, inputs)
        with record_kernel_pointers() as pointers:
            found = compiled(*inputs)
    expect_equal(found, expected)
    for each in (*inputs, *also_used, *tensors(found)):
        assert each.data_ptr() in pointers
    return compiled


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("last", ["x", "xy", "w", "xyw"])
def test_images_and_weights(last: str, api: str) -> None:
    network: Any = Residual().eval()
    x, y = T.randn(2, 3, 5, 6), T.randn(2, 4, 5, 6)
    x = in_order(x) if "x" in last else x
    y = in_order(y) if "y" in last else y
    network = in_order(network) if "w" in last else network
    check_in_place(network, (x, y), api, [network.conv.weight, network.norm.weight])
    assert api == "compile" or not REPORT.eager


@pytest.mark.parametrize("is_last", [False, True])
def test_volumes(is_last: bool) -> None:
    """`torch.export` traces row-major results, unlike those that PyTorch returns."""
    network: Any = nn.Sequential(nn.Conv3d(2, 3, 2), nn.ReLU()).eval()
    if is_last:
        network = in_order(network, T.channels_last_3d)
    x = in_order(T.randn(2, 2, 3, 4, 3), T.channels_last_3d)
    check_in_place(network, (x,), "backend", [network[0].weight])


def transpose_only(x: Tensor) -> Any:
    return x.t()


def keep_and_transpose(x: Tensor) -> Any:
    return x + 1, (x * 2).t(), x.t().contiguous()


def permute(x: Tensor) -> Any:
    return x.permute(2, 0, 1), x.permute(2, 0, 1) * 2


def double(x: Tensor) -> Any:
    return x.relu() * 2


def multiply(x: Tensor, w: Tensor) -> Any:
    return x @ w


@pytest.mark.one_in(1 / 4)
@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    ("function", "inputs"),
    [
        (keep_and_transpose, [T.randn(3, 5)]),
        (keep_and_transpose, [T.randn(5, 3).t()]),
        (permute, [T.randn(2, 3, 4)]),
        (permute, [T.randn(4, 2, 3).permute(1, 2, 0)]),
        (multiply, [T.randn(4, 6), T.randn(5, 6).t()]),
        (multiply, [T.randn(6, 4).t(), T.randn(6, 5)]),
        (multiply, [T.randn(6, 2, 4).permute(1, 2, 0), T.randn(5, 6).t()]),
        (T.relu, [in_order(T.randn(2, 1, 4, 5))]),
        (T.relu, [in_order(T.randn(1, 3, 4, 5))]),
        (T.relu, [in_order(T.randn(2, 3, 1, 1))]),
        (T.relu, [in_order(T.randn(1, 1, 1, 1))]),
        (T.relu, [T.randn(1, 4).t()]),
        (T.relu, [T.randn(())]),
        (T.relu, [T.randn(8, 6)[2:5].t()]),
    ],
)
def test_axes_in_any_order(
    function: Callable[..., Any], inputs: list[Tensor], api: str
) -> None:
    check_in_place(Module(function), inputs, api)


@pytest.mark.parametrize("api", APIS)
def test_views_of_inputs(api: str) -> None:
    """Results are new, though PyTorch returns views, and lie as those."""
    x = T.randn(3, 5)
    for given in (x, x.t()):
        with torch.no_grad():
            compiled = compile_with(api, Module(transpose_only), [given])
            expect_equal(compiled(given), given.t())


@pytest.mark.parametrize("api", APIS)
def test_empty_tensors(api: str) -> None:
    def function(x: Tensor, y: Tensor) -> Any:
        return x * 2, T.cat([x, y], 2)

    x = in_order(T.zeros(2, 3, 0, 4))
    y = in_order(T.randn(2, 3, 2, 4))
    with torch.no_grad():
        compiled = compile_with(api, Module(function), [x, y])
        found, expected = compiled(x, y), function(x, y)
    torch.testing.assert_close(found, expected)
    assert found[1].stride() == expected[1].stride()


def test_other_strides_are_copied() -> None:
    """A compiled module takes any strides; shapes are checked."""
    network, x = nn.Conv2d(3, 4, 3).eval(), T.randn(2, 3, 5, 6)
    compiled = compile_module(network, (in_order(x),), target="triton")
    wide = T.randn(2, 3, 5, 12)[..., ::2]
    reversed_axes = x.permute(3, 2, 1, 0).contiguous().permute(3, 2, 1, 0)
    for given in (x, wide, reversed_axes):
        with torch.no_grad(), record_kernel_pointers() as pointers:
            found = compiled(given)
            expect_equal(found, in_order(network(given)))
        assert given.data_ptr() not in pointers
        assert found.data_ptr() in pointers
    with pytest.raises(TypeError, match=r"expected shape \(2, 3, 5, 6\), got"):
        compiled(x.transpose(2, 3))


def test_other_strides_are_compiled_anew() -> None:
    """Each layout is a program of its own for `torch.compile`."""
    x = T.randn(2, 3, 5, 6)
    compiled = compiled_by_backend(double, "triton")
    for given in (x, in_order(x), in_order(x), x):
        with torch.no_grad(), record_kernel_pointers() as pointers:
            found = compiled(given)
        expect_equal(found, double(given))
        assert {given.data_ptr(), found.data_ptr()} <= pointers
    assert REPORT.compiled == 4
    assert not REPORT.eager


@pytest.mark.parametrize("api", APIS)
def test_weights_are_prepared_once(api: str) -> None:
    """Only the preparation reads the weight of the convolution."""
    network, inputs = make_block(), make_images()
    weight = network.conv.weight
    compiled = check_in_place(network, inputs, api, [weight])
    for is_changed in (False, True, False):
        with torch.no_grad(), record_kernel_pointers() as pointers:
            if is_changed:
                weight.mul_(2)
            expect_equal(compiled(*inputs), network(*inputs))
        assert (weight.data_ptr() in pointers) == is_changed


def test_saved_modules(tmp_path: Path) -> None:
    """Weights are in the program's layouts again, wherever they come from."""
    network, inputs = make_block(), make_images()
    compiled = compile_module(network, inputs, target="triton")
    tlf.save(compiled, tmp_path / "module.tlf")
    loaded: Any = None
    rows = {name: each.contiguous() for name, each in network.state_dict().items()}
    given: list[Any] = [None, rows, network.state_dict()]
    for weights in given:
        loaded = tlf.load(tmp_path / "module.tlf", weights=weights)
        with torch.no_grad(), record_kernel_pointers() as pointers:
            found = loaded(*inputs)
            expect_equal(found, network(*inputs))
        used = (*inputs, found, loaded.weights["conv.weight"])
        assert {each.data_ptr() for each in used} <= pointers
    assert loaded.weights["conv.weight"].data_ptr() == network.conv.weight.data_ptr()


TEXT = """
func.func @f(%x: tensor<2x3x4xf32> {tlf.layout = array<i64: 0, 2, 1>},
             %w: tensor<4x5xf32> {tlf.parameter, tlf.layout = array<i64: 1, 0>})
    -> (tensor<2x3x5xf32> {tlf.layout = array<i64: 2, 0, 1>}) {
  %y = graph.matmul %x, %w
      : (tensor<2x3x4xf32>, tensor<4x5xf32>) -> tensor<2x3x5xf32>
  func.return %y : tensor<2x3x5xf32>
}
"""


def test_programs_in_text(tmp_path: Path) -> None:
    compiled = tlf.compile(TEXT, target="triton")
    x, w = torch.randn(2, 4, 3).transpose(1, 2), torch.randn(5, 4).t()
    tlf.save(compiled, tmp_path / "program.tlf")
    for program in (compiled, tlf.load(tmp_path / "program.tlf")):
        with record_kernel_pointers() as pointers:
            found: Any = program(x, w)
        assert {each.data_ptr() for each in (x, w, found)} <= pointers
        torch.testing.assert_close(found, x @ w, rtol=1e-5, atol=1e-5)
        assert found.stride() == (3, 1, 6)
        torch.testing.assert_close(program(x.contiguous(), w.contiguous()), found)
        for arrays in ([x.numpy(), w.numpy()], [x.numpy().copy(), w.numpy().copy()]):
            array: Any = program(*arrays)
            np.testing.assert_array_equal(array, found.numpy())
            assert array.strides == (12, 4, 24)
