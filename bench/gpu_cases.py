"""Kernels of many kinds and shapes, in `graph` and in PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

Tensors: TypeAlias = Sequence[Any]
"""Tensors of PyTorch, untyped so that the cases do not require PyTorch."""


@dataclass(frozen=True)
class KernelCase:
    """One program: the shapes of its arguments, its operations and its result."""

    name: str
    arguments: tuple[tuple[int, ...], ...]
    element: str
    body: str
    """Operations of `graph` on `%0`, `%1` and so on; the last result is `%y`."""
    result: tuple[int, ...]
    torch: Callable[[Any, Tensors], Any]
    """The equivalent PyTorch function of the `torch` module and the arguments."""

    @property
    def text(self) -> str:
        """Program text."""
        arguments = ", ".join(
            f"%{index}: {tensor(shape, self.element)}"
            for index, shape in enumerate(self.arguments)
        )
        out = tensor(self.result, self.element)
        return (
            f"func.func @f({arguments}) -> {out} {{\n  {self.body}\n"
            f"  func.return %y : {out}\n}}\n"
        )

    @property
    def bytes(self) -> int:
        """Bytes of all arguments and the result."""
        width = {"f32": 4, "f16": 2, "bf16": 2}[self.element]
        return width * sum(map(_element_count, (*self.arguments, self.result)))


def tensor(shape: Sequence[int], element: str) -> str:
    """Return the type of a tensor."""
    return f"tensor<{'x'.join(map(str, (*shape, element)))}>"


def _element_count(shape: Sequence[int]) -> int:
    count = 1
    for extent in shape:
        count *= extent
    return count


def product(rows: int, columns: int, depth: int, element: str) -> KernelCase:
    """Return a product of two matrices."""
    left, right, out = (rows, depth), (depth, columns), (rows, columns)
    types = f"({tensor(left, element)}, {tensor(right, element)})"
    return KernelCase(
        f"matmul {rows}x{columns}x{depth} {element}",
        (left, right),
        element,
        f"%y = graph.matmul %0, %1 : {types} -> {tensor(out, element)}",
        out,
        lambda torch, given: torch.matmul(*given),
    )


def linear(rows: int, columns: int, depth: int, element: str) -> KernelCase:
    """Return a product with a bias and a ReLU."""
    left, right, out = (rows, depth), (depth, columns), (rows, columns)
    result_type, bias = tensor(out, element), tensor((columns,), element)
    types = f"({tensor(left, element)}, {tensor(right, element)})"
    return KernelCase(
        f"linear {rows}x{columns}x{depth} {element}",
        (left, right, (columns,)),
        element,
        f"%a = graph.matmul %0, %1 : {types} -> {result_type}\n"
        f"  %b = graph.add %a, %2 : ({result_type}, {bias}) -> {result_type}\n"
        f"  %y = graph.relu %b : {result_type}",
        out,
        lambda torch, given: torch.relu(torch.addmm(given[2], given[0], given[1])),
    )


def unary(
    name: str, shape: tuple[int, ...], element: str, option: str = ""
) -> KernelCase:
    """Return an elementwise function."""
    type_ = tensor(shape, element)

    def run(torch: Any, given: Tensors) -> Any:
        function = getattr(torch, name, None) or getattr(torch.nn.functional, name)
        return function(given[0])

    return KernelCase(
        f"{name} {'x'.join(map(str, shape))} {element}",
        (shape,),
        element,
        f"%y = graph.{name} %0{option} : {type_}",
        shape,
        run,
    )


def addition(shape: tuple[int, ...], element: str) -> KernelCase:
    """Return a sum of two tensors."""
    result_type = tensor(shape, element)
    return KernelCase(
        f"add {'x'.join(map(str, shape))} {element}",
        (shape, shape),
        element,
        f"%y = graph.add %0, %1 : ({result_type}, {result_type}) -> {result_type}",
        shape,
        lambda torch, given: torch.add(*given),
    )


def reduction(rows: int, columns: int, axis: int, element: str) -> KernelCase:
    """Return the sums along an axis."""
    shape, out = (rows, columns), (columns if axis == 0 else rows,)
    types = f"({tensor(shape, element)}) -> {tensor(out, element)}"
    return KernelCase(
        f"sum {rows}x{columns} axis {axis} {element}",
        (shape,),
        element,
        f"%y = graph.reduce %0 <sum> axes [{axis}] : {types}",
        out,
        lambda torch, given: torch.sum(given[0], axis),
    )


def softmax(rows: int, columns: int, element: str) -> KernelCase:
    """Return a softmax of rows."""
    shape = (rows, columns)
    result_type = tensor(shape, element)
    return KernelCase(
        f"softmax {rows}x{columns} {element}",
        (shape,),
        element,
        f"%y = graph.softmax %0 axis 1 : ({result_type}) -> {result_type}",
        shape,
        lambda torch, given: torch.softmax(given[0], 1),
    )


def layer_norm(rows: int, columns: int, element: str) -> KernelCase:
    """Return a layer normalisation of rows."""
    shape, row = (rows, columns), (columns,)
    result_type, vector = tensor(shape, element), tensor(row, element)
    return KernelCase(
        f"layer norm {rows}x{columns} {element}",
        (shape, row, row),
        element,
        "%y = graph.layer_norm %0 weight %1 bias %2 epsilon 1.0e-05 : "
        f"({result_type}, {vector}, {vector}) -> {result_type}",
        shape,
        lambda torch, given: torch.nn.functional.layer_norm(
            given[0], (columns,), given[1], given[2]
        ),
    )


def transpose(rows: int, columns: int, element: str) -> KernelCase:
    """Return a transposed matrix."""
    shape, out = (rows, columns), (columns, rows)
    types = f"({tensor(shape, element)}) -> {tensor(out, element)}"
    return KernelCase(
        f"transpose {rows}x{columns} {element}",
        (shape,),
        element,
        f"%y = graph.transpose %0 permutation [1, 0] : {types}",
        out,
        lambda torch, given: given[0].t().contiguous(),
    )


@dataclass(frozen=True)
class Window:
    """Window of a convolution: its extent, stride and padding."""

    extent: int
    stride: int = 1
    padding: int = 0


def convolution(
    images: int, channels: tuple[int, int], size: int, window: Window, element: str
) -> KernelCase:
    """Return a convolution of square images, channels first."""
    before, after = channels
    out = (size + 2 * window.padding - window.extent) // window.stride + 1
    image = (images, before, size, size)
    weights = (after, before, window.extent, window.extent)
    result = (images, after, out, out)
    strides, padding = [window.stride] * 2, [window.padding] * 4
    types = f"({tensor(image, element)}, {tensor(weights, element)})"
    return KernelCase(
        f"conv {window.extent}x{window.extent}/{window.stride} {images}x{before}x"
        f"{size} to {after} {element}",
        (image, weights),
        element,
        f"%y = graph.conv2d %0, %1 strides {strides} padding {padding} : {types} -> "
        f"{tensor(result, element)}",
        result,
        lambda torch, given: torch.nn.functional.conv2d(
            given[0], given[1], None, window.stride, window.padding
        ),
    )


def all_cases() -> Iterator[KernelCase]:
    """Yield all cases, the most informative ones first."""
    yield product(4096, 4096, 4096, "bf16")
    yield addition((4096, 4096), "f32")
    yield unary("relu", (1024,), "f32")
    yield softmax(32768, 4096, "bf16")
    yield product(1000, 1000, 1000, "f32")
    yield reduction(16384, 4096, 1, "f32")
    yield reduction(4096, 16384, 0, "f32")
    yield convolution(8, (64, 64), 56, Window(3, 1, 1), "f16")
    yield layer_norm(32768, 4096, "bf16")
    yield product(128, 4096, 4096, "bf16")
    yield product(1023, 2047, 511, "f16")
    yield unary("gelu", (16384, 8192), "bf16", " <erf>")
    yield product(8192, 1024, 4096, "bf16")
    yield product(8192, 4096, 1024, "f16")
    yield product(512, 512, 512, "f16")
    yield product(4096, 4096, 64, "bf16")
    yield product(64, 64, 16384, "f16")
    yield product(2048, 2048, 2048, "f32")
    yield product(1, 4096, 4096, "bf16")
    yield linear(4096, 4096, 4096, "bf16")
    yield convolution(8, (256, 64), 56, Window(1), "f16")
    yield convolution(8, (3, 64), 224, Window(7, 2, 3), "f16")
    yield convolution(32, (256, 256), 14, Window(3, 1, 1), "bf16")
    yield softmax(16384, 1000, "f32")
    yield softmax(2048, 16384, "f32")
    yield layer_norm(4096, 1023, "f32")
    yield transpose(4096, 4096, "f32")
    yield unary("exp", (10_000_001,), "f32")
    yield unary("tanh", (1000, 777), "f16")
    yield reduction(300, 1000, 1, "f16")
