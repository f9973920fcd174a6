"""Programs of `mem` whose loops are to be pipelined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mem_programs import memref


@dataclass
class Text:
    """Lines of a program, with names for values."""

    lines: list[str]
    names: int = 0

    def name(self) -> str:
        """A new name."""
        self.names += 1
        return f"%v{self.names}"

    def number(self, value: int) -> str:
        """An index."""
        name = self.name()
        self.lines.append(f"{name} = arith.constant {value} : index")
        return name

    def alloc(self, shape: Sequence[int], level: str) -> str:
        """A buffer."""
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
        """A move that is awaited at once."""
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
        Move a tile along a chain of buffers and their types; the outermost one, at
        `far`, is the first, or the last on the way `out`.
        """
        zeros = ["0"] * len(shape)
        for number in range(len(chain) - 1):
            (source, source_type), (target, target_type) = chain[number : number + 2]
            is_far = number == (len(chain) - 2 if out else 0)
            place = far if is_far else zeros
            offsets = (zeros, place) if out else (place, zeros)
            self.move((source, target), offsets, shape, (source_type, target_type))

    def map(self, target: str, sources: Sequence[str], shape: Sequence[int]) -> None:
        """Let a buffer in L1 be the sum of the first and the last of others."""
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
    """A function of arguments %x0, ... and results %y0, ..."""
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
    Adds the first and the last of some arrays tile by tile, several times in place:
    each tile goes to L2, to L1, and all the way back.
    """
    text = Text([])
    text.parallel(["%i", "%j"], (shape, tile))
    far = memref(shape, "f32", "L3")
    types = {level: memref(tile, "f32", level) for level in ("L2", "L1")}
    near: list[str] = []
    for number in range(inputs):
        ends = [(f"%x{number}", far)]
        ends += [(text.alloc(tile, level), types[level]) for level in ("L2", "L1")]
        text.through(ends, ["%i", "%j"], tile)
        near.append(ends[-1][0])
    for _ in range(steps):
        text.map(near[0], near, tile)
    back = (text.alloc(tile, "L2"), types["L2"])
    ends = [(near[0], types["L1"]), back, ("%y0", far)]
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
    Adds two arrays in tiles for L2 that are cut again for L1, by as
    many loops one after the other as asked for, each on the result of the one before.
    """
    text = Text([])
    outer, inner = tiles
    text.parallel(["%i", "%j"], (shape, outer))
    far = memref(shape, "f32", "L3")
    mid, near = memref(outer, "f32", "L2"), memref(inner, "f32", "L1")
    operands = [text.alloc(outer, "L2") for _ in range(2)]
    for number, operand in enumerate(operands):
        text.through([(f"%x{number}", far), (operand, mid)], ["%i", "%j"], outer)
    result = operands[0]
    for number in range(loops):
        result, source = text.alloc(outer, "L2"), result
        variables = [f"%r{number}", f"%c{number}"]
        text.parallel(variables, (outer, inner))
        tile = [text.alloc(inner, "L1") for _ in range(2)]
        for each, part in zip((source, operands[1]), tile, strict=True):
            text.through([(each, mid), (part, near)], variables, inner)
        text.map(tile[0], tile, inner)
        text.through([(tile[0], near), (result, mid)], variables, inner, out=True)
        text.close_parallel(2, stages[1])
    text.through([(result, mid), ("%y0", far)], ["%i", "%j"], outer, out=True)
    text.close_parallel(2, stages[0])
    return function([shape, shape], [shape], text)


def product(
    sizes: tuple[int, int, int], tiles: tuple[int, int, int], stages: tuple[int, int]
) -> str:
    """
    A product of matrices, m x k by k x n, with a loop over tiles of the result and a
    sequential one over pieces of k.
    """
    (m, n, k), (tm, tn, tk) = sizes, tiles
    text = Text([])
    text.parallel(["%i", "%j"], ((m, n), (tm, tn)))
    total = text.alloc((tm, tn), "L1")
    text.lines.append(f"mem.fill 0.0 into {total} : {memref((tm, tn), 'f32', 'L1')}")
    bounds = [text.number(each) for each in (0, k, tk)]
    text.lines.append(f"scf.for %k = {bounds[0]} to {bounds[1]} step {bounds[2]} {{")
    parts: list[str] = []
    for name, shape, tile, at in (
        ("%x0", (m, k), (tm, tk), ["%i", "%k"]),
        ("%x1", (k, n), (tk, tn), ["%k", "%j"]),
    ):
        ends = [(name, memref(shape, "f32", "L3"))]
        ends += [
            (text.alloc(tile, level), memref(tile, "f32", level))
            for level in ("L2", "L1")
        ]
        text.through(ends, at, tile)
        parts.append(ends[-1][0])
    types = [memref(each, "f32", "L1") for each in ((tm, tk), (tk, tn), (tm, tn))]
    text.lines += [
        f"mem.contract ins({', '.join(parts)} : {types[0]}, {types[1]}) "
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
    Row `i` of the result is the sum of the first `i` rows: the inner loop runs `i`
    times.
    """
    text = Text([])
    far = memref((rows, columns), "f32", "L3")
    types = {level: memref((1, columns), "f32", level) for level in ("L2", "L1")}
    zero, one, end = (text.number(each) for each in (0, 1, rows))
    text.lines.append(f"scf.for %i = {zero} to {end} step {one} {{")
    total = text.alloc((1, columns), "L1")
    text.lines += [
        f"mem.fill 0.0 into {total} : {types['L1']}",
        f"scf.for %j = {zero} to %i step {one} {{",
    ]
    ends = [("%x0", far)]
    ends += [(text.alloc((1, columns), level), types[level]) for level in ("L2", "L1")]
    text.through(ends, ["%j", "0"], (1, columns))
    text.map(total, [total, ends[-1][0]], (1, columns))
    text.lines.append(f"}} {{stages = {stages[1]} : i64}}")
    back = text.alloc((1, columns), "L2")
    ends = [(total, types["L1"]), (back, types["L2"]), ("%y0", far)]
    text.through(ends, ["%i", "0"], (1, columns), out=True)
    text.lines.append(f"}} {{stages = {stages[0]} : i64}}")
    return function([(rows, columns)], [(rows, columns)], text)
