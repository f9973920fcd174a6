"""Programs of `mem` with loops for software pipelining."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mem_programs import memref


@dataclass
class Text:
    """Lines of a program, with fresh value names."""

    lines: list[str]
    names: int = 0

    def name(self) -> str:
        """Return a fresh name."""
        self.names += 1
        return f"%v{self.names}"

    def number(self, value: int) -> str:
        """Add an index constant."""
        name = self.name()
        self.lines.append(f"{name} = arith.constant {value} : index")
        return name

    def alloc(self, shape: Sequence[int], level: str) -> str:
        """Add a buffer."""
        name = self.name()
        self.lines.append(f"{name} = mem.alloc : {memref(shape, 'f32', level)}")
        return name

    def move(
        self,
        ends: tuple[str, str],
        offsets: tuple[Sequence[str], Sequence[str]],
        box: Sequence[int],
        types: tuple[str, str],
    ) -> None:
        """Add a DMA and its wait."""
        token = self.name()
        source, destination = (f"[{', '.join(each)}]" for each in offsets)
        self.lines += [
            f"{token} = mem.dma {ends[0]}{source} to {ends[1]}{destination} "
            f"size {list(box)} fill 0.0 : {types[0]} to {types[1]}",
            f"mem.wait {token}",
        ]

    def through(
        self,
        chain: Sequence[tuple[str, str]],
        far: Sequence[str],
        shape: Sequence[int],
        out: bool = False,
    ) -> None:
        """
        Move a tile along a chain of buffers, given with their types.

        The first buffer, or the last one with `out`, is the outermost; its offsets are
        `far`.
        """
        zeros = ["0"] * len(shape)
        for index in range(len(chain) - 1):
            (source, source_type), (target, target_type) = chain[index : index + 2]
            is_outermost = index == (len(chain) - 2 if out else 0)
            offset = far if is_outermost else zeros
            offsets = (zeros, offset) if out else (offset, zeros)
            self.move((source, target), offsets, shape, (source_type, target_type))

    def map(self, target: str, sources: Sequence[str], shape: Sequence[int]) -> None:
        """Add the sum of the first and the last source, into a buffer in L1."""
        type_ = memref(shape, "f32", "L1")
        axes = ", ".join(f"d{axis}" for axis in range(len(shape)))
        identity = f"affine_map<({axes}) -> ({axes})>"
        values = [f"%p{number}" for number in range(len(sources))]
        arguments = ", ".join(f"{value}: f32" for value in values)
        total = self.name()
        self.lines += [
            f"mem.map ins({', '.join(sources)} : {', '.join([type_] * len(sources))}) "
            f"outs({target} : {type_}) domain {list(shape)} "
            f"maps [{', '.join([identity] * (len(sources) + 1))}] {{",
            f"^bb0({arguments}):",
            f"{total} = arith.addf {values[0]}, {values[-1]} : f32",
            f"mem.yield {total} : f32",
            "}",
        ]

    def parallel(
        self, variables: Sequence[str], bounds: Sequence[Sequence[int]]
    ) -> None:
        """Open a parallel nest; bounds are the ends and the steps."""
        rank = len(variables)
        ends = [
            *(self.number(0) for _ in range(rank)),
            *(self.number(end) for end in bounds[0]),
            *(self.number(step) for step in bounds[1]),
        ]
        arguments = ", ".join(f"{each}: index" for each in variables)
        self.lines += [
            f'"scf.parallel"({", ".join(ends)}) '
            f"<{{operandSegmentSizes = array<i32: {rank}, {rank}, {rank}, 0>}}> ({{",
            f"^bb0({arguments}):",
        ]

    def close_parallel(self, rank: int, stages: int) -> None:
        """Close a parallel nest."""
        types = ", ".join(["index"] * 3 * rank)
        self.lines += [
            "scf.reduce",
            f'}}) {{mapping = "loop", stages = {stages} : i64}} : ({types}) -> ()',
        ]


def function(
    inputs: Sequence[Sequence[int]], outputs: Sequence[Sequence[int]], body: Text
) -> str:
    """Return a function of arguments %x0, ... and results %y0, ..."""
    arguments = [f"%x{n}: {memref(s, 'f32', 'L3')}" for n, s in enumerate(inputs)]
    arguments += [f"%y{n}: {memref(s, 'f32', 'L3')}" for n, s in enumerate(outputs)]
    return "\n".join(
        [
            f"func.func @main({', '.join(arguments)}) attributes "
            f"{{tlf.results = {len(outputs)} : i64}} {{",
            *body.lines,
            "func.return",
            "}",
        ]
    )


def elementwise(
    shape: tuple[int, int],
    tile: tuple[int, int],
    stages: int,
    inputs: int = 1,
    steps: int = 1,
) -> str:
    """
    Return a program that adds the first and the last of some arrays tile by tile.

    The sum is repeated `steps` times in place. Each tile is moved to L2 and L1, and
    back.
    """
    text = Text([])
    text.parallel(["%i", "%j"], (shape, tile))
    outer = memref(shape, "f32", "L3")
    types = {level: memref(tile, "f32", level) for level in ("L2", "L1")}
    inner: list[str] = []
    for index in range(inputs):
        ends = [(f"%x{index}", outer)]
        ends += [(text.alloc(tile, level), types[level]) for level in ("L2", "L1")]
        text.through(ends, ["%i", "%j"], tile)
        inner.append(ends[-1][0])
    for _ in range(steps):
        text.map(inner[0], inner, tile)
    back = (text.alloc(tile, "L2"), types["L2"])
    ends = [(inner[0], types["L1"]), back, ("%y0", outer)]
    text.through(ends, ["%i", "%j"], tile, out=True)
    text.close_parallel(2, stages)
    return function([shape] * inputs, [shape], text)


def nested(
    shape: tuple[int, int],
    tiles: tuple[tuple[int, int], tuple[int, int]],
    stages: tuple[int, int],
    loops: int = 1,
) -> str:
    """
    Return a program that adds two arrays in tiles for L2, tiled again for L1.

    The inner nest is repeated `loops` times, each on the result of the previous one.
    """
    text = Text([])
    outer, inner = tiles
    text.parallel(["%i", "%j"], (shape, outer))
    outer_type = memref(shape, "f32", "L3")
    middle_type, inner_type = memref(outer, "f32", "L2"), memref(inner, "f32", "L1")
    operands = [text.alloc(outer, "L2") for _ in range(2)]
    for index, operand in enumerate(operands):
        text.through(
            [(f"%x{index}", outer_type), (operand, middle_type)], ["%i", "%j"], outer
        )
    result = operands[0]
    for index in range(loops):
        result, source = text.alloc(outer, "L2"), result
        variables = [f"%r{index}", f"%c{index}"]
        text.parallel(variables, (outer, inner))
        tile = [text.alloc(inner, "L1") for _ in range(2)]
        for each, inner_tile in zip((source, operands[1]), tile, strict=True):
            text.through(
                [(each, middle_type), (inner_tile, inner_type)], variables, inner
            )
        text.map(tile[0], tile, inner)
        text.through(
            [(tile[0], inner_type), (result, middle_type)], variables, inner, out=True
        )
        text.close_parallel(2, stages[1])
    text.through(
        [(result, middle_type), ("%y0", outer_type)], ["%i", "%j"], outer, out=True
    )
    text.close_parallel(2, stages[0])
    return function([shape, shape], [shape], text)


def product(
    sizes: tuple[int, int, int], tiles: tuple[int, int, int], stages: tuple[int, int]
) -> str:
    """
    Return a product of matrices, m x k by k x n.

    A parallel loop runs over tiles of the result, and a sequential one over reduction
    tiles.
    """
    (m, n, k), (tm, tn, tk) = sizes, tiles
    text = Text([])
    text.parallel(["%i", "%j"], ((m, n), (tm, tn)))
    total = text.alloc((tm, tn), "L1")
    text.lines.append(f"mem.fill 0.0 into {total} : {memref((tm, tn), 'f32', 'L1')}")
    bounds = [text.number(each) for each in (0, k, tk)]
    text.lines.append(f"scf.for %k = {bounds[0]} to {bounds[1]} step {bounds[2]} {{")
    factors: list[str] = []
    for name, shape, tile, position in (
        ("%x0", (m, k), (tm, tk), ["%i", "%k"]),
        ("%x1", (k, n), (tk, tn), ["%k", "%j"]),
    ):
        ends = [(name, memref(shape, "f32", "L3"))]
        ends += [
            (text.alloc(tile, level), memref(tile, "f32", level))
            for level in ("L2", "L1")
        ]
        text.through(ends, position, tile)
        factors.append(ends[-1][0])
    types = [memref(each, "f32", "L1") for each in ((tm, tk), (tk, tn), (tm, tn))]
    text.lines += [
        f"mem.contract ins({', '.join(factors)} : {types[0]}, {types[1]}) "
        f"outs({total} : {types[2]}) domain {[tm, tn, tk]} maps ["
        "affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, "
        "affine_map<(m, n, k) -> (m, n)>]",
        f"}} {{stages = {stages[1]} : i64}}",
    ]
    back = (text.alloc((tm, tn), "L2"), memref((tm, tn), "f32", "L2"))
    ends = [(total, types[2]), back, ("%y0", memref((m, n), "f32", "L3"))]
    text.through(ends, ["%i", "%j"], (tm, tn), out=True)
    text.close_parallel(2, stages[0])
    return function([(m, k), (k, n)], [(m, n)], text)


def prefixes(rows: int, columns: int, stages: tuple[int, int]) -> str:
    """
    Return a program whose row `i` of the result is the sum of the first `i` rows.

    The inner loop has `i` iterations.
    """
    text = Text([])
    outer = memref((rows, columns), "f32", "L3")
    types = {level: memref((1, columns), "f32", level) for level in ("L2", "L1")}
    zero, one, end = (text.number(each) for each in (0, 1, rows))
    text.lines.append(f"scf.for %i = {zero} to {end} step {one} {{")
    total = text.alloc((1, columns), "L1")
    text.lines += [
        f"mem.fill 0.0 into {total} : {types['L1']}",
        f"scf.for %j = {zero} to %i step {one} {{",
    ]
    ends = [("%x0", outer)]
    ends += [(text.alloc((1, columns), level), types[level]) for level in ("L2", "L1")]
    text.through(ends, ["%j", "0"], (1, columns))
    text.map(total, [total, ends[-1][0]], (1, columns))
    text.lines.append(f"}} {{stages = {stages[1]} : i64}}")
    back = text.alloc((1, columns), "L2")
    ends = [(total, types["L1"]), (back, types["L2"]), ("%y0", outer)]
    text.through(ends, ["%i", "0"], (1, columns), out=True)
    text.lines.append(f"}} {{stages = {stages[0]} : i64}}")
    return function([(rows, columns)], [(rows, columns)], text)
