"""Modules whose tensors do not lie in row-major order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_check import T, compiled_by_backend

from tlf.compiler.api.torch_backend import REPORT
from tlf.compiler.api.torch_module import compile_module
from tlf.dialects.entry_point import find_entry_point
from tlf.dialects.io_layout_attributes import get_argument_layouts, get_result_layouts
from tlf.frontend.torch import from_torch
from tlf.frontend.torch.memory_order import axis_order_of
from tlf.support.tensor_strides import with_axis_order, with_strides

LAST = (0, 2, 3, 1)


def channels_last(whole: Any) -> Any:
    return whole.to(memory_format=torch.channels_last)


def block() -> nn.Module:
    T.manual_seed(3)
    layers = nn.Conv2d(6, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)
    return channels_last(nn.Sequential(*layers).eval())


def image() -> Tensor:
    x = T.randn((2, 6, 10, 12), generator=T.Generator().manual_seed(5))
    return channels_last(x)


@pytest.mark.parametrize(
    ("tensor", "order"),
    [
        (T.zeros(2, 3, 4), None),
        (T.zeros(2, 3, 4).transpose(1, 2), (0, 2, 1)),
        (image(), LAST),
        (channels_last(T.zeros(2, 1, 4, 5)), None),
        (T.zeros(4, 6)[:, ::2], None),
        (T.zeros(6, 4).T[:, ::2], None),
        (T.zeros(4, 1).expand(4, 6), None),
        (T.zeros(()), None),
    ],
)
def test_order_of_strides(tensor: Tensor, order: Sequence[int] | None) -> None:
    assert axis_order_of(tensor) == order
    assert with_axis_order(tensor.contiguous(), order).equal(tensor)


def test_tensors_in_order_are_returned() -> None:
    x = image()
    assert with_axis_order(x, LAST) is x
    assert with_axis_order(x, None) is x
    assert with_axis_order(x.contiguous(), LAST).stride() == x.stride()


def test_channels_last_is_declared() -> None:
    imported = from_torch(block(), (image(),))
    function = find_entry_point(imported.module)
    assert get_argument_layouts(function) == [None, None, LAST]
    assert get_result_layouts(function) == [LAST]
    imported = from_torch(block(), (image(),), weight_layouts=True)
    function = find_entry_point(imported.module)
    assert get_argument_layouts(function) == [LAST, None, LAST]


@pytest.mark.parametrize("target", ["reference", "npu-tiny"])
def test_channels_last_runs(target: str) -> None:
    """Results lie as those of PyTorch do, wherever arguments lie."""
    module, x = block(), image()
    compiled = compile_module(module, (x,), target=target)
    with torch.no_grad():
        expected = module(x)
    for given in (x, x.contiguous()):
        found = compiled(given)
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
        assert found.stride() == expected.stride()


def test_backend_keeps_strides() -> None:
    """Results of `torch.compile` lie as those of PyTorch do."""
    module, x = block(), image()
    compiled = compiled_by_backend(module, "reference")
    with torch.no_grad():
        expected, found = module(x), compiled(x)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    assert found.stride() == expected.stride()


@pytest.mark.parametrize(
    "like",
    [
        T.zeros(4, 6),
        T.zeros(4, 6).t(),
        T.zeros(4, 6)[:, ::2],
        T.zeros(6, 4)[1:].t(),
        T.zeros(4, 1).expand(4, 6),
        T.zeros(4, 1, 3)[::2].expand(2, 5, 3),
        T.zeros(()),
    ],
)
def test_with_strides(like: Tensor):
    x = T.randn(tuple(like.shape))
    found = with_strides(x, like.stride())
    assert found.stride() == like.stride()
    repeated = [slice(0, 1) if stride == 0 else slice(None) for stride in like.stride()]
    assert found.equal(x[tuple(repeated)].expand(x.shape))


def test_elements_that_overlap_are_left():
    like = T.zeros(6).unfold(0, 3, 1)
    x = T.randn(tuple(like.shape))
    assert with_strides(x, like.stride()) is x


def gapped(x: Tensor) -> Tensor:
    return T.as_strided((x * 2)[:, 1:], (2, 2), (6, 1))


def selected(x: Tensor) -> Tensor:
    return T.as_strided((x * 2)[1], (3,), (1,))


def repeated(x: Tensor) -> Tensor:
    return T.as_strided(x.repeat((3, 4))[:, ::2], (3, 2), (4, 1))


def split(x: Tensor) -> Tensor:
    return T.as_strided(T.split(x + 1, 2)[1], (2, 3), (6, 2))


def used_twice(x: Tensor) -> Tensor:
    view = (x * 2).t()[1:3]
    return T.as_strided(view, (2, 2), (1, 6), 0) + (view * 3)[:, :2]


def scattered(x: Tensor) -> Tensor:
    view = (x * 2)[:, 1:]
    return T.as_strided_scatter(view, x[:2, :2], (2, 2), (6, 1))


@pytest.mark.parametrize(
    "function", [gapped, selected, repeated, split, used_twice, scattered]
)
def test_memory_that_is_addressed(function: Callable[[Tensor], Tensor]):
    """Strides count from the memory that PyTorch would have."""
    x = T.arange(24.0).reshape(4, 6)
    compiled = compiled_by_backend(function)
    with torch.no_grad():
        torch.testing.assert_close(compiled(x), function(x))
    assert REPORT.compiled > 0
    assert any("as_strided" in name for name in REPORT.eager)


def rolled(x: Tensor) -> Tensor:
    return T.as_strided(T.roll(x, -1, 0), (5, 10), (4, 1), 0)


def rolled_before(x: Tensor) -> Tensor:
    return T.as_strided(T.roll(x * 2, -1, 0)[1] + 1, (4, 10), (1, 1), 1)


def halves(x: Tensor) -> Tensor:
    return T.as_strided_copy(T.roll(x, -1, 0).chunk(2)[1] * 2, (4, 10), (1, 1), 1)


@pytest.mark.parametrize("function", [rolled, rolled_before, halves])
def test_memory_that_tracing_takes_for_another(function: Callable[[Tensor], Tensor]):
    """Kernels keep an order of axes where tracing has them in row-major order."""
    x = channels_last(T.arange(100.0).reshape(2, 5, 2, 5))
    compiled = compiled_by_backend(function)
    with torch.no_grad():
        assert compiled(x).equal(function(x))


def copied(x: Tensor) -> Tensor:
    x.add_(1)
    return T.as_strided_copy(x, (3,), (2,))


def put(x: Tensor) -> Tensor:
    x.mul_(2)
    return x.as_strided_scatter(x[:3] * 3, (3,), (2,))


def seen(x: Tensor) -> Tensor:
    x.add_(1)
    return x.as_strided((3,), (2,)) * 2


@pytest.mark.parametrize("function", [copied, put, seen])
def test_memory_of_inputs_that_are_written_to(function: Callable[[Tensor], Tensor]):
    one, other = T.arange(10.0)[::2], T.arange(10.0)[::2]
    compiled = compiled_by_backend(function)
    with torch.no_grad():
        assert compiled(one).equal(function(other))
    assert one.equal(other)


@pytest.mark.one_in(1 / 4)
@pytest.mark.parametrize("images", [1, 3])
@pytest.mark.parametrize("pool", [nn.AdaptiveAvgPool2d(1), nn.AvgPool2d((10, 12))])
@pytest.mark.parametrize("is_flat", [True, False])
def test_strides_that_pooling_sets(images: int, pool: nn.Module, is_flat: bool):
    """PyTorch's pooling sets strides of axes of one element, and stays with TLF."""
    tail = nn.Flatten() if is_flat else nn.Sigmoid()
    network = nn.Sequential(
        nn.Conv2d(6, 8, 3, padding=1), nn.BatchNorm2d(8), pool, tail
    )
    network = channels_last(network.eval())
    x = channels_last(T.randn(images, 6, 10, 12))
    compiled = compiled_by_backend(network)
    with torch.no_grad():
        found, wanted = compiled(x), network(x)
    torch.testing.assert_close(found, wanted)
    assert found.stride() == wanted.stride()
    assert REPORT.compiled > 0
    assert not REPORT.eager


def test_what_stays_with_pytorch_sees_strides():
    """Whatever the parts are, results lie as they would."""

    seen: list[Any] = []

    def noted(x: Tensor) -> Tensor:
        seen.append(x.stride())
        return x.clone()

    library: Any = T.library.custom_op("tlf_test::noted", noted, mutates_args=())
    library.register_fake(T.empty_like)

    def function(x: Tensor) -> Any:
        return library((x * 2)[:, ::2]), library((x + 1).t()), library(x[:, :1] * 1)

    x = T.randn(3, 6)
    with torch.no_grad():
        expected = function(x)
        found = compiled_by_backend(function)(x)
    torch.testing.assert_close(found, expected)
    assert seen[3:] == seen[:3]


def test_results_are_on_their_devices():
    """Not where the inputs are, if PyTorch moves or makes them elsewhere."""

    def function(x: Tensor) -> Any:
        return (x + 1).to("meta") * 2, x * 3, T.arange(4, device="meta") * 2

    x = T.randn(3)
    with torch.no_grad():
        found = compiled_by_backend(function)(x)
    assert [each.device.type for each in found] == ["meta", "cpu", "meta"]


def test_results_with_gaps_keep_strides():
    """Views of what a graph computes lie in memory as those of PyTorch do."""

    def function(x: Tensor) -> Any:
        rows, columns = (x + 1).unbind(1)[:2], (x * 2)[:, 1:3]
        return *rows, columns, x.sum(0).expand(3, 6), (x - 1).t()[::2]

    x = T.randn(3, 6)
    with torch.no_grad():
        expected, found = function(x), compiled_by_backend(function)(x)
    torch.testing.assert_close(found, expected)
    assert [each.stride() for each in found] == [each.stride() for each in expected]


@pytest.mark.parametrize("shape", [(2, 3, 4, 6), (1, 2, 2, 8), (3, 4, 6)])
@pytest.mark.parametrize("is_last", [False, True])
def test_maxima_are_put_back_in_place(shape: tuple[int, ...], is_last: bool) -> None:
    def through(x: Tensor) -> Tensor:
        found, indices = nn.functional.max_pool2d(x, 2, return_indices=True)
        return nn.functional.max_unpool2d(found, indices, [2, 2])

    x = T.randn(shape, generator=T.Generator().manual_seed(5))
    x = channels_last(x) if is_last and len(shape) == 4 else x
    with torch.no_grad():
        expected, found = through(x), compiled_by_backend(through)(x)
    assert found.equal(expected)
    assert found.stride() == expected.stride()
