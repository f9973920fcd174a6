"""Random networks of convolutions and operations on their images."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

from graph_program import Program, Step, Value

INTEGERS = ("i64", "i32", "i8")
"""Element types of integers."""

MAX_ELEMENTS = 3000
"""Maximum number of elements of an image."""


class NetworkBuilder:
    """
    Builder of a network on images, N x C x axes, of a number of axes and an element
    type, from random layers.
    """

    def __init__(self, seed: int, element: str, axis_count: int = 2) -> None:
        self.random = random.Random(seed)
        self.element = element
        self.axis_count = axis_count
        self.arguments: list[Value] = []
        self.steps: list[Step] = []
        self.images: list[Value] = []
        self.results: list[Value] = []

    @property
    def wide(self) -> str:
        """Element type of accumulators."""
        return {"i8": "i32", "f16": "f32", "bf16": "f32"}.get(
            self.element, self.element
        )

    @property
    def rank(self) -> int:
        """Number of axes of images."""
        return self.axis_count + 2

    def build_network(self, layer_count: int) -> Program:
        """
        Return a network: layers on an argument, the first of which is a convolution.
        """
        extents = [self.random.choice([1, 4, 5, 6, 8]) for _ in range(self.axis_count)]
        channels = self.random.choice([1, 3, 4, 8])
        self.images.append(self.argument((self.pick(1, 2, 3), channels, *extents)))
        while not self.steps:
            add_convolution(self)
        for _ in range(layer_count):
            self.random.choice(LAYERS)(self)
        images = [self.images[1], self.random.choice(self.images), self.images[-1]]
        results = [*self.results[-3:], *images]
        return Program(
            tuple(self.arguments), tuple(self.steps), tuple(dict.fromkeys(results))
        ).live()

    def pick(self, *numbers: int) -> int:
        """Return one of several numbers."""
        return self.random.choice(numbers)

    def image(self) -> Value:
        """Return an image, preferably a late one."""
        return self.random.choice(self.images[-self.pick(1, 1, 1, 2, 4) :])

    def argument(
        self, shape: Sequence[int], element: str | None = None, bound: float = 1.0
    ) -> Value:
        """Add an argument; of integers, the bound is that of all."""
        element = element or self.element
        low, high = (-8, 7) if element in INTEGERS else (-bound, bound)
        name = f"a{len(self.arguments)}"
        value = Value(name, tuple(shape), element, low, high)
        self.arguments.append(value)
        return value

    def operand(self, shape: Sequence[int]) -> Value:
        """Return a tensor of a shape: an image, a constant, or an argument."""
        known = [each for each in self.images if each.shape == tuple(shape)]
        choice = self.random.random()
        if known and choice < 0.6:
            return self.random.choice(known)
        if choice > 0.8:
            number = "3" if self.element in INTEGERS else "0.75"
            return self.step(f"graph.constant dense<{number}>", (), shape)
        return self.argument(shape)

    def step(
        self,
        pattern: str,
        operands: Sequence[Value],
        shape: Sequence[int],
        element: str | None = None,
    ) -> Value:
        """Add an operation, and return its result."""
        name = f"v{len(self.steps)}"
        value = Value(name, tuple(shape), element or self.element)
        self.steps.append(Step(value, pattern, tuple(operands)))
        return value

    def add_image(
        self, pattern: str, operands: Sequence[Value], shape: Sequence[int]
    ) -> None:
        """Add an operation that computes an image, unless that is large or empty."""
        if 0 < math.prod(shape) <= MAX_ELEMENTS:
            self.images.append(self.step(pattern, operands, shape))

    def window(self, extents: Sequence[int], is_pool: bool) -> _Windows | None:
        """Return random windows that fit into extents."""
        count = len(extents)
        taps = [self.pick(1, 2, 3, 3) for _ in extents]
        strides, dilation = (
            [self.pick(1, 1, 2, 3) for _ in extents],
            [self.pick(1, 1, 2) for _ in extents],
        )
        padding = [self.pick(0, 1, 1, 2) for _ in range(2 * count)]
        if is_pool:
            padding = [min(p, t - 1) for p, t in zip(padding, taps * 2, strict=True)]
            dilation = [1] * count
        windows = _Windows(taps, strides, padding, dilation)
        return windows if min(windows.output_extents(extents)) > 0 else None


class _Windows:
    """Windows on images, and their options in text."""

    def __init__(
        self,
        taps: Sequence[int],
        strides: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
    ) -> None:
        self.taps, self.strides = taps, strides
        self.padding, self.dilation = padding, dilation

    @property
    def options(self) -> str:
        """Strides, padding and dilation."""
        return (
            f"strides {list(self.strides)} padding {list(self.padding)} "
            f"dilation {list(self.dilation)}"
        )

    def output_extents(self, extents: Sequence[int]) -> list[int]:
        """Return the number of windows along each axis."""
        count = len(extents)
        return [
            (
                extent
                + self.padding[n]
                + self.padding[count + n]
                - self.dilation[n] * (self.taps[n] - 1)
                - 1
            )
            // self.strides[n]
            + 1
            for n, extent in enumerate(extents)
        ]


def add_convolution(net: NetworkBuilder) -> None:
    """Add a convolution, of all channels, in groups, or depthwise."""
    x = net.image()
    windows = net.window(x.shape[2:], is_pool=False)
    if windows is None:
        return
    channels = x.shape[1]
    divisors = [n for n in range(1, channels + 1) if channels % n == 0]
    groups = net.pick(1, 1, 1, channels, net.random.choice(divisors))
    filters = groups * max(1, net.pick(1, 2, 3, 8) // net.pick(1, groups))
    depth = channels // groups
    bound = 1.5 / math.sqrt(depth * math.prod(windows.taps))
    weights = net.argument((filters, depth, *windows.taps), bound=bound)
    shape = (x.shape[0], filters, *windows.output_extents(x.shape[2:]))
    if math.prod(shape) > MAX_ELEMENTS:
        return
    has_init = net.axis_count == 2 and net.random.random() < 0.2
    operands = [x, weights]
    element = net.wide if net.element == "i8" else net.element
    if has_init:
        operands.append(net.argument(shape, element))
    init = "init {} " if has_init else ""
    text = (
        f"graph.conv{net.axis_count}d {{}}, {{}} {init}{windows.options} "
        f"groups {groups} acc {net.wide}"
    )
    y = net.step(text, operands, shape, element)
    if y.element != net.element:
        y = net.step("graph.cast {}", [y], shape)
    net.images.append(y)


def add_pooling(net: NetworkBuilder) -> None:
    """Add a maximum, sum or mean of windows."""
    x = net.image()
    kinds = {2: ["max", "sum", "avg"], 3: ["max", "avg"]}[net.axis_count]
    if net.element in INTEGERS:
        kinds = [each for each in kinds if each != "avg"]
    kind = net.random.choice(kinds)
    if (windows := net.window(x.shape[2:], is_pool=True)) is None:
        return
    shape = (*x.shape[:2], *windows.output_extents(x.shape[2:]))
    text = f"graph.{kind}_pool{net.axis_count}d {{}} kernel {list(windows.taps)} "
    net.add_image(text + windows.options, [x], shape)


def add_elementwise(net: NetworkBuilder) -> None:
    """Add an elementwise operation with a tensor that broadcasts along any axes."""
    x = net.image()
    shape = [net.random.choice([extent, 1]) for extent in x.shape]
    while shape and shape[0] == 1 and net.random.random() < 0.7:
        del shape[0]
    operands = [x, net.operand(shape if net.random.random() < 0.8 else x.shape)]
    if net.random.random() < 0.5:
        operands.reverse()
    kind = net.random.choice(["add", "sub", "mul", "maximum"])
    net.add_image(f"graph.{kind} {{}}, {{}}", operands, x.shape)


def add_selection(net: NetworkBuilder) -> None:
    """Add a selection by a comparison of images."""
    x = net.image()
    other = net.operand(x.shape)
    mask = net.step("graph.compare {}, {} <lt>", [x, other], x.shape, "i1")
    net.add_image("graph.select {}, {}, {}", [mask, x, other], x.shape)


def add_gate(net: NetworkBuilder) -> None:
    """Add a product of an image and its reduction along random axes."""
    x = net.image()
    axes = [axis for axis in range(net.rank) if net.random.random() < 0.5]
    if not axes:
        return
    shape = [1 if axis in axes else extent for axis, extent in enumerate(x.shape)]
    kind = net.random.choice(["max", "min", "max"])
    gate = net.step(f"graph.reduce {{}} <{kind}> axes {axes} keepdims", [x], shape)
    net.add_image("graph.mul {}, {}", [x, gate], x.shape)


def add_reduction(net: NetworkBuilder) -> None:
    """Add a reduction along random axes as a result."""
    x = net.image()
    axes = [axis for axis in range(net.rank) if net.random.random() < 0.5]
    if not axes:
        return
    keeps = net.random.random() < 0.5
    shape = [n for axis, n in enumerate(x.shape) if keeps or axis not in axes]
    if keeps:
        shape = [1 if axis in axes else n for axis, n in enumerate(x.shape)]
    kind = net.random.choice(["sum", "max", "min"])
    acc = f" acc {net.wide}" if kind == "sum" and net.element != "i8" else ""
    text = f"graph.reduce {{}} <{kind}> axes {axes}{' keepdims' * keeps}{acc}"
    net.results.append(net.step(text, [x], shape))


def add_concat(net: NetworkBuilder) -> None:
    """Add a concatenation, most often of channels."""
    x = net.image()
    axis = net.pick(1, 1, 1, *range(net.rank))
    extent = net.pick(x.shape[axis], 1, 4)
    other = net.operand((*x.shape[:axis], extent, *x.shape[axis + 1 :]))
    operands = [x, other, *([x] if net.random.random() < 0.3 else [])]
    net.random.shuffle(operands)
    total = sum(each.shape[axis] for each in operands)
    text = f"graph.concat {', '.join(['{}'] * len(operands))} axis {axis}"
    net.add_image(text, operands, (*x.shape[:axis], total, *x.shape[axis + 1 :]))


def add_pad(net: NetworkBuilder) -> None:
    """Add a padding."""
    x = net.image()
    low, high = ([net.pick(0, 0, 1, 2) for _ in x.shape] for _ in "lh")
    fill = "1" if net.element in INTEGERS else net.random.choice(["0.0", "1.5"])
    text = f"graph.pad {{}} low {low} high {high} fill {fill}"
    net.add_image(text, [x], [sum(e) for e in zip(low, x.shape, high, strict=True)])


def add_padded_windows(net: NetworkBuilder) -> None:
    """Add a padding of pixels, sometimes reshaped, and windows of the padded image."""
    x = net.image()
    is_maximum = net.random.random() < 0.5
    least = {"i8": -128, "i32": -(2**31), "i64": -(2**63)}
    fills = ["0", "3"] if net.element in INTEGERS else ["0.0", "1.5"]
    if is_maximum:
        fills = [fills[0], str(least.get(net.element, "-inf"))]
    fill = net.random.choice(fills)
    low, high = ([0, 0, *(net.pick(0, 1, 2) for _ in x.shape[2:])] for _ in "lh")
    shape = [sum(each) for each in zip(low, x.shape, high, strict=True)]
    if math.prod(shape) > MAX_ELEMENTS:
        return
    text = f"graph.pad {{}} low {low} high {high} fill {fill}"
    net.images.append(net.step(text, [x], shape))
    if net.random.random() < 0.3:
        add_reshaped_pixels(net)
    if is_maximum:
        window = [2] * net.axis_count
        y = net.images[-1]
        extents = [extent - 1 for extent in y.shape[2:]]
        text = f"graph.max_pool{net.axis_count}d {{}} kernel {window}"
        net.add_image(text, [y], (*y.shape[:2], *extents))
    else:
        add_convolution(net)


def add_reshaped_pixels(net: NetworkBuilder) -> None:
    """Add a reshape of the axes of pixels: permuted extents, or all in one axis."""
    x = net.images[-1]
    extents = list(x.shape[2:])
    if net.random.random() < 0.5:
        extents.sort()
    else:
        extents = [*(1 for _ in extents[1:]), math.prod(extents)]
    net.add_image("graph.reshape {}", [x], (*x.shape[:2], *extents))


def add_channel_slice(net: NetworkBuilder) -> None:
    """Add a slice or a padding of channels."""
    x = net.image()
    count, channels, *extents = x.shape
    if net.random.random() < 0.5:
        offset, step = net.random.randrange(channels), net.pick(1, 2)
        kept = (channels - offset - 1) // step + 1
        zeros, ones = [0] * net.axis_count, [1] * net.axis_count
        text = (
            f"graph.slice {{}} offsets {[0, offset, *zeros]} strides {[1, step, *ones]}"
        )
        net.add_image(text, [x], (count, kept, *extents))
        return
    low, high = ([0, net.pick(0, 1, 2), *(0 for _ in extents)] for _ in "lh")
    fill = "3" if net.element in INTEGERS else "0.5"
    text = f"graph.pad {{}} low {low} high {high} fill {fill}"
    net.add_image(text, [x], (count, channels + low[1] + high[1], *extents))


def add_slice(net: NetworkBuilder) -> None:
    """Add a strided slice."""
    x = net.image()
    offsets = [net.random.randrange(max(1, extent // 2)) for extent in x.shape]
    strides = [net.pick(1, 1, 2) for _ in x.shape]
    places = zip(x.shape, offsets, strides, strict=True)
    shape = [(extent - first - 1) // step + 1 for extent, first, step in places]
    text = f"graph.slice {{}} offsets {offsets} strides {strides}"
    net.add_image(text, [x], shape)


def add_upsampling(net: NetworkBuilder) -> None:
    """Add a repetition of every pixel along the last axis."""
    x = net.image()
    names = [f"d{axis}" for axis in range(net.rank)]
    map_ = f"affine_map<({', '.join([*names, 'r'])}) -> ({', '.join(names)})>"
    fill = "0" if net.element in INTEGERS else "0.0"
    text = f"graph.unfold {{}} map {map_} fill {fill}"
    repeated = net.step(text, [x], (*x.shape, 2))
    net.add_image("graph.reshape {}", [repeated], (*x.shape[:-1], 2 * x.shape[-1]))


def add_mirroring(net: NetworkBuilder) -> None:
    """Add an unfold with as many axes as the image, which shears and pads it."""
    x = net.image()
    names = [f"d{axis}" for axis in range(net.rank)]
    indices = [*names[:-1], f"{names[-1]} * 2 + {names[-2]} - 1"]
    map_ = f"affine_map<({', '.join(names)}) -> ({', '.join(indices)})>"
    fill = "2" if net.element in INTEGERS else "-0.5"
    text = f"graph.unfold {{}} map {map_} fill {fill}"
    net.add_image(text, [x], x.shape)


def add_pixel_shuffle(net: NetworkBuilder) -> None:
    """Add a move of factors of the channels to the axes after them."""
    x = net.image()
    count, channels, *extents = x.shape
    factors = [2 if channels % 2 ** (n + 1) == 0 else 1 for n in range(net.axis_count)]
    rest = channels // math.prod(factors)
    # Axes of extent 1 may be left out, as of the channels that remain.
    split = [count, rest, *factors, *extents]
    permutation = [0, 1]
    for n in range(net.axis_count):
        permutation += [2 + net.axis_count + n, 2 + n]
    if rest == 1 and net.random.random() < 0.7:
        del split[1]
        permutation = [axis - (axis > 1) for axis in permutation if axis != 1]
    _add_permuted(
        net,
        x,
        split,
        permutation,
        (count, rest, *(a * b for a, b in zip(factors, extents, strict=True))),
    )


def add_channel_shuffle(net: NetworkBuilder) -> None:
    """Add a transposition of factors of the channels."""
    x = net.image()
    count, channels, *extents = x.shape
    factor = 2 if channels % 2 == 0 else channels
    lead = [count] if count > 1 or net.random.random() < 0.5 else []
    split = [*lead, factor, channels // factor, *extents]
    first = len(lead)
    order = [*range(first), first + 1, first, *range(first + 2, len(split))]
    _add_permuted(net, x, split, order, x.shape)


def _add_permuted(
    net: NetworkBuilder,
    x: Value,
    split: Sequence[int],
    permutation: Sequence[int],
    shape: Sequence[int],
) -> None:
    """Add a reshape, a transpose and a reshape."""
    parts = net.step("graph.reshape {}", [x], split)
    moved = [split[axis] for axis in permutation]
    text = f"graph.transpose {{}} permutation {list(permutation)}"
    net.add_image("graph.reshape {}", [net.step(text, [parts], moved)], shape)


def add_transpose(net: NetworkBuilder) -> None:
    """Add a transposition of all axes."""
    x = net.image()
    order = net.random.sample(range(net.rank), net.rank)
    shape = [x.shape[axis] for axis in order]
    net.add_image(f"graph.transpose {{}} permutation {order}", [x], shape)


def add_vectors(net: NetworkBuilder) -> None:
    """Add images as vectors, or a softmax over an axis, as a result."""
    x = net.image()
    if net.element not in INTEGERS and net.random.random() < 0.5:
        axis = net.pick(1, 1, *range(net.rank))
        net.results.append(net.step(f"graph.softmax {{}} axis {axis}", [x], x.shape))
        return
    shape = (x.shape[0], math.prod(x.shape[1:]))
    net.results.append(net.step("graph.reshape {}", [x], shape))


def add_rounding(net: NetworkBuilder) -> None:
    """Add casts to a narrower type and back."""
    if net.element not in ("f32", "i32"):
        return
    x = net.image()
    element = "bf16" if net.element == "f32" else "i8"
    narrow = net.step("graph.cast {}", [x], x.shape, element)
    net.add_image("graph.cast {}", [narrow], x.shape)


LAYERS: tuple[Callable[[NetworkBuilder], None], ...] = (
    add_convolution,
    add_convolution,
    add_elementwise,
    add_elementwise,
    add_pooling,
    add_gate,
    add_reduction,
    add_concat,
    add_concat,
    add_pad,
    add_padded_windows,
    add_reshaped_pixels,
    add_channel_slice,
    add_slice,
    add_upsampling,
    add_mirroring,
    add_pixel_shuffle,
    add_channel_shuffle,
    add_transpose,
    add_vectors,
    add_rounding,
    add_selection,
)
"""Rules that add layers to a network."""
