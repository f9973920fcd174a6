"""Programs with rolling windows, written in the tile dialect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil

KINDS = ("load", "made", "old", "view", "outside")
"""
Sources of the next slices: a load; a computation; a computation on the previous window;
a slice view of a tile; a tile from before the loop. The last two are not computed at
their destination.
"""
USES = ("parts", "old", "whole")
"""
Reads of the window in an iteration: slices; slices, also of the previous window; all of
the window.
"""


@dataclass(frozen=True)
class Window:
    """Rolling window: its extent, the source of its next slices, and its reads."""

    extent: int
    kind: str = "load"
    use: str = "parts"
    is_result: bool = False
    """True if the last window is a result."""


@dataclass(frozen=True)
class Rolling:
    """Loop that advances windows by `count` slices per iteration along an axis."""

    windows: tuple[Window, ...]
    count: int
    shape: tuple[int, ...]
    """Shape of the tensor."""
    axis: int = 1
    first: int = 0
    step: int = 1
    stages: int = 1
    element: str = "f32"
    batch: int | None = None
    """
    Iterations of a surrounding parallel loop, whose index is an additional first axis.
    """
    level: str = "L2"
    lines: list[str] = field(default_factory=list[str], compare=False, repr=False)

    @property
    def trips(self) -> int:
        return ceil(self.shape[self.axis] / self.count)

    @property
    def built(self) -> str:
        """
        Type of the tensor that the loop builds; with a batch, a tile of full slices.
        """
        if self.batch is None:
            return self.far(self.shape)
        return self.near(self.cut(self.trips * self.count))

    def text(self) -> str:
        """Return the program."""
        self.lines.clear()
        results = [self.far(self.shape)]
        results += [self.far(self.cut(w.extent)) for w in self.windows if w.is_result]
        body = self.loop() if self.batch is None else self.batches()
        source = self.far(self.shape)
        return "\n".join(
            [
                f"func.func @roll(%x: {source}) -> ({', '.join(results)}) {{",
                *self.lines,
                f"func.return {', '.join(body)} : {', '.join(results)}",
                "}",
            ]
        )

    def batches(self) -> list[str]:
        """
        Write the loop inside a parallel loop, and return the results of the latter.
        """
        results = ["%b_y", *(f"%b_l{n}" for n in self.kept())]
        shapes = [self.shape, *(self.cut(self.windows[n].extent) for n in self.kept())]
        ends = [f"%b_e{n}" for n in range(len(shapes))]
        for end, shape in zip(ends, shapes, strict=True):
            self.say(f"{end} = tile.empty : {self.far(shape)}")
        into = ", ".join(
            f"%b_o{n} = {end} : {self.far(shape)}"
            for n, (end, shape) in enumerate(zip(ends, shapes, strict=True))
        )
        self.say(
            f"{', '.join(results)} = tile.while (%b = 0 to {self.batch} step 1) "
            f"parallel mapping(loop) into({into}) {{"
        )
        inner = self.loop()
        for n, (value, shape) in enumerate(zip(inner, shapes, strict=True)):
            offsets = self.offsets("0")
            self.say(
                f"%b_n{n} = tile.deslice {value} into %b_o{n}{offsets} "
                f": {self.near(shape) if n else self.built} into {self.far(shape)}"
            )
        types = ", ".join(map(self.far, shapes))
        names = ", ".join(f"%b_n{n}" for n in range(len(shapes)))
        self.say(f"tile.yield {names} : {types}", "}")
        return results

    def loop(self) -> list[str]:
        """Write the loop, and return its results."""
        carried = [f"%o = %e : {self.built}"]
        self.say(f"%e = tile.empty : {self.built}")
        for n, window in enumerate(self.windows):
            type_ = self.near(self.cut(window.extent))
            self.say(self.load(f"%first{n}", -window.extent + 1, window.extent))
            carried.append(f"%w{n} = %first{n} : {type_}")
            if window.kind == "outside":
                self.say(self.load(f"%constant{n}", 1, self.count))
        results = ["%y", *(f"%last{n}" for n in range(len(self.windows)))]
        last = self.first + self.step * (self.trips - 1) + 1
        self.say(
            f"{', '.join(results)} = tile.while (%i = {self.first} to {last} step "
            f"{self.step}) sequential mapping(loop) stages({self.stages}) "
            f"carry({', '.join(carried)}) {{",
            f"%u = affine.apply affine_map<(d0) -> ((d0 - {self.first}) floordiv "
            f"{self.step} * {self.count})> (%i)",
            f"%v = affine.apply affine_map<(d0) -> ((d0 - {self.first}) floordiv "
            f"{self.step} * {self.count} + 1)> (%i)",
        )
        self.iteration()
        return [results[0], *self.last_windows()]

    def iteration(self) -> None:
        """Write the body of the loop."""
        tiles: list[str] = []
        axis = self.axis + (self.batch is not None)
        for n, window in enumerate(self.windows):
            self.following(n, window)
            type_ = self.near(self.cut(window.extent))
            count = self.near(self.cut(self.count))
            self.say(
                f"%r{n} = tile.roll %w{n}, %next{n} axis {axis} : {type_}, {count}"
            )
            tiles += self.pieces(n, window)
        total = tiles[0]
        for index, operand in enumerate(tiles[1:]):
            total = self.add(f"%s{index}", total, operand)
        type_ = self.near(self.cut(self.count))
        offsets = self.offsets("%u", near=True)
        self.say(
            f"%n = tile.deslice {total} into %o{offsets} : {type_} into {self.built}"
        )
        names = ["%n", *(f"%r{n}" for n in range(len(self.windows)))]
        types = [self.built]
        types += [self.near(self.cut(window.extent)) for window in self.windows]
        self.say(f"tile.yield {', '.join(names)} : {', '.join(types)}", "}")

    def following(self, n: int, window: Window) -> None:
        """Write the next slices of a window."""
        if window.kind in ("load", "made", "old"):
            name = f"%next{n}" if window.kind == "load" else f"%load{n}"
            self.say(self.load(name, "%v", self.count))
        match window.kind:
            case "made":
                self.add(f"%next{n}", f"%load{n}", f"%load{n}")
            case "old":
                old = self.part(f"%was{n}", f"%w{n}", 0, window)
                self.add(f"%next{n}", f"%load{n}", old)
            case "view":
                self.say(self.load(f"%more{n}", "%v", self.count + 1))
                more = Window(self.count + 1)
                self.part(f"%next{n}", f"%more{n}", 1, more)
            case "outside":
                shape = self.near(self.cut(self.count))
                self.say(
                    f"%next{n} = tile.slice %constant{n}{self.offsets('0', near=True)} "
                    f": {shape} -> {shape}"
                )
            case _:
                pass

    def pieces(self, n: int, window: Window) -> list[str]:
        """
        Write the reads of a window in an iteration, and return tiles of `count` slices.
        """
        end = window.extent - self.count
        if window.use == "whole":
            type_ = self.near(self.cut(window.extent))
            double = f"%double{n}"
            self.say(
                f"{double} = graph.add %r{n}, %r{n} : ({type_}, {type_}) -> {type_}"
            )
            return [self.part(f"%d{n}", double, end, window)]
        tiles = [
            self.part(f"%a{n}", f"%r{n}", 0, window),
            self.part(f"%b{n}", f"%r{n}", end, window),
        ]
        if window.use == "old":
            tiles.append(self.part(f"%c{n}", f"%w{n}", end // 2, window))
        return tiles

    def last_windows(self) -> list[str]:
        """Write the last windows that are results, each into its own tensor."""
        results: list[str] = []
        for n in self.kept():
            if self.batch is not None:
                results.append(f"%last{n}")
                continue
            shape = self.cut(self.windows[n].extent)
            self.say(
                f"%l_e{n} = tile.empty : {self.far(shape)}",
                f"%l{n} = tile.deslice %last{n} into %l_e{n}{self.offsets('0')} : "
                f"{self.near(shape)} into {self.far(shape)}",
            )
            results.append(f"%l{n}")
        return results

    # Elements of the text

    def kept(self) -> list[int]:
        return [n for n, window in enumerate(self.windows) if window.is_result]

    def say(self, *lines: str) -> None:
        self.lines.extend(lines)

    def cut(self, extent: int) -> tuple[int, ...]:
        shape = list(self.shape)
        shape[self.axis] = extent
        return tuple(shape)

    def far(self, shape: Sequence[int]) -> str:
        outer = [] if self.batch is None else [self.batch]
        return f"tensor<{'x'.join(map(str, [*outer, *shape]))}x{self.element}>"

    def near(self, shape: Sequence[int]) -> str:
        outer = [] if self.batch is None else [1]
        sizes = "x".join(map(str, [*outer, *shape]))
        return f"tensor<{sizes}x{self.element}, #tile.encoding<{self.level}>>"

    def offsets(self, along: int | str, near: bool = False) -> str:
        texts = ["0"] * len(self.shape)
        texts[self.axis] = str(along)
        if self.batch is not None:
            texts.insert(0, "0" if near else "%b")
        return f"[{', '.join(texts)}]"

    def load(self, name: str, along: int | str, extent: int) -> str:
        zero = "0" if self.element.startswith("i") else "0.0"
        return (
            f"{name} = tile.slice %x{self.offsets(along)} fill {zero} : {self.element} "
            f": {self.far(self.shape)} -> {self.near(self.cut(extent))}"
        )

    def part(self, name: str, source: str, along: int, window: Window) -> str:
        self.say(
            f"{name} = tile.slice {source}{self.offsets(along, near=True)} : "
            f"{self.near(self.cut(window.extent))} -> {self.near(self.cut(self.count))}"
        )
        return name

    def add(self, name: str, left: str, right: str) -> str:
        type_ = self.near(self.cut(self.count))
        self.say(f"{name} = graph.add {left}, {right} : ({type_}, {type_}) -> {type_}")
        return name
