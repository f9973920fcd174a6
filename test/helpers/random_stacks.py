"""Random stacks of convolutions and poolings: groups with overlapping tiles."""

from collections.abc import Sequence

from numpy.random import Generator
from random_groups import tensor, text_of


class Stack:
    """Builder of a function with one group, operation by operation."""

    def __init__(self, rng: Generator, element: str) -> None:
        self.rng = rng
        self.element = element
        self.arguments: dict[str, str] = {}
        self.lines: list[str] = []
        self.shape = (
            int(rng.integers(1, 3)),
            int(rng.integers(1, 5)),
            int(rng.integers(6, 20)),
            int(rng.integers(4, 10)),
        )
        self.value = self._argument("x", self.shape)
        self.skips = [(self.value, self.shape)]

    def _argument(self, name: str, shape: tuple[int, ...]) -> str:
        self.arguments[name] = tensor(shape, self.element)
        return f"%{name}"

    def _add(self, text: str, shape: tuple[int, int, int, int]) -> None:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        self.value, self.shape = name, shape
        self.skips.append((name, shape))

    def _type(self) -> str:
        return tensor(self.shape, self.element)

    def step(self) -> None:
        """Add one operation of any kind."""
        same = [skip for skip, shape in self.skips[:-1] if shape == self.shape]
        match int(self.rng.integers(5)):
            case 0:
                self._add(f"graph.relu {self.value} : {self._type()}", self.shape)
            case 1 if same:
                other = str(self.rng.choice(same))
                type_ = self._type()
                self._add(
                    f"graph.add {self.value}, {other} : ({type_}, {type_}) -> {type_}",
                    self.shape,
                )
            case 2:
                self._pool()
            case _:
                self._convolution()

    def _window(self) -> tuple[list[int], list[int], list[int], tuple[int, int]]:
        """Return random taps, strides and padding, and the extents of the result."""
        rng = self.rng
        taps = [int(each) for each in rng.integers(1, 4, 2)]
        strides = [int(each) for each in rng.choice([1, 1, 2], 2)]
        padding = [int(rng.integers(0, (tap + 1) // 2 + 1)) for tap in taps * 2]
        padding = [
            min(pad, tap - 1) for pad, tap in zip(padding, taps * 2, strict=True)
        ]
        extents = [
            (self.shape[2 + axis] + padding[axis] + padding[2 + axis] - taps[axis])
            // strides[axis]
            + 1
            for axis in range(2)
        ]
        return taps, strides, padding, (extents[0], extents[1])

    def _pool(self) -> None:
        taps, strides, padding, (rows, columns) = self._window()
        if rows < 1 or columns < 1:
            return
        source = self._type()
        shape = (*self.shape[:2], rows, columns)
        self._add(
            f"graph.max_pool2d {self.value} kernel {taps} strides {strides} "
            f"padding {padding} : ({source}) -> {tensor(shape, self.element)}",
            shape,
        )

    def _convolution(self) -> None:
        taps, strides, padding, (rows, columns) = self._window()
        if rows < 1 or columns < 1:
            return
        random_filters = int(self.rng.integers(1, 5))
        filters = self.shape[1] if self.rng.random() < 0.5 else random_filters
        weights = (filters, self.shape[1], *taps)
        name = f"w{len(self.arguments)}"
        self._argument(name, weights)
        source = self._type()
        shape = (self.shape[0], filters, rows, columns)
        self._add(
            f"graph.conv2d {self.value}, %{name} strides {strides} padding {padding} : "
            f"({source}, {tensor(weights, self.element)}) "
            f"-> {tensor(shape, self.element)}",
            shape,
        )

    def result(self, value: str, shape: Sequence[int]) -> tuple[str, str]:
        """Add a result computed from an existing value; return its name and type."""
        name, type_ = f"e{len(self.lines)}", tensor(shape, self.element)
        self.lines.append(f"%{name} = graph.neg {value} : {type_}")
        return name, type_


def stack(rng: Generator, results: int = 1) -> str:
    """
    Return a random stack of two to six operations.

    Results beyond the first are computed from intermediate values.
    """
    builder = Stack(rng, str(rng.choice(["f32", "f32", "bf16"])))
    while len(builder.lines) < 2:
        builder.step()
    for _ in range(int(rng.integers(5))):
        builder.step()
    last = builder.value.removeprefix("%")
    intermediates = [builder.result(*skip) for skip in builder.skips[-results:-1]]
    body = "\n".join(builder.lines)
    return text_of(
        builder.arguments,
        body,
        (last, tensor(builder.shape, builder.element)),
        *intermediates,
    )
