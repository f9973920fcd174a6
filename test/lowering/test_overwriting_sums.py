"""
Sums that overwrite: programs without their fills compute the same, interpreted, where
what was never written is poison, and on the NPU, where it traps.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import pytest
from filled_sums import COUNT, OUT, SHAPES, SumWriter
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects import get_all_dialects as get_xdsl_dialects
from xdsl.parser import Parser

from tlf.dialects import get_dialect_loaders
from tlf.passes.mem.mem_fold_fills import MemFoldFillsPass
from tlf.runtime.npu import Report
from tlf.runtime.npu.dtypes import DTYPES

Array = NDArray[np.generic]
Interpret = Callable[[str, Sequence[Array]], None]
Simulate = Callable[[str, Sequence[Array], bool], Report]

PAIRS = [
    ("f32", "f32"),
    ("f16", "f32"),
    ("bf16", "f32"),
    ("f16", "f16"),
    ("bf16", "bf16"),
    ("i32", "i32"),
    ("i8", "i32"),
]
"""The types of what is summed, and of the sum."""


def folded(text: str) -> str:
    """The program without the fills that can go."""
    context = Context()
    for name, factory in (get_xdsl_dialects() | get_dialect_loaders()).items():
        context.register_dialect(name, factory)
    module = Parser(context, text).parse_module()
    MemFoldFillsPass().apply(context, module)
    module.verify()
    return str(module)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("element", "total"), PAIRS)
@pytest.mark.parametrize("seed", range(2))
def test_random_programs(
    seed: int,
    element: str,
    total: str,
    interpret_mem: Interpret,
    simulate_mem: Simulate,
) -> None:
    text = SumWriter(seed, element, total).program()
    after = folded(text)
    generator = np.random.default_rng(seed)
    inputs = [
        generator.integers(-2, 3, shape).astype(DTYPES[element])
        for shape in SHAPES.values()
    ]
    runs: list[list[Array]] = []
    for each in (text, after):
        outputs: list[Array] = [np.zeros(OUT, DTYPES[total]) for _ in range(COUNT)]
        interpret_mem(each, [*inputs, *outputs])
        report = simulate_mem(each, inputs, bool(seed % 2))
        runs += [outputs, list(report.outputs.values())]
    for got, wanted in pairwise(runs):
        for one, other in zip(got, wanted, strict=True):
            np.testing.assert_array_equal(one, other)


def test_random_programs_have_fills_of_both_kinds() -> None:
    texts = [SumWriter(seed, "f32", "f32").program() for seed in range(4)]
    dropped = [t.count("mem.fill") - folded(t).count("mem.fill") for t in texts]
    conditions = [folded(text).count("overwrite unless") for text in texts]
    assert sum(dropped) > 8
    assert sum(conditions) > 4
    assert any("mem.fill" in folded(text) for text in texts)


NEST = """
func.func @main(%x: memref<2x2x2x2x2x2xf32, "L3">, %w: memref<2x2x2x2x2xf32, "L3">,
                %y: memref<2xf32, "L3">, %z: memref<2xf32, "L3">)
    attributes {tlf.results = 2 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %m1 = arith.constant -1 : index
  BRING
  %s = mem.alloc : memref<2xf32, "L1">
  %t = mem.alloc : memref<2xf32, "L1">
  scf.for %i = FROM to %c3 step %c1 {
    mem.contract
        ins(%xn, %wn : memref<2x2x2x2x2x2xf32, "L1">, memref<2x2x2x2x2xf32, "L1">)
        outs(%s : memref<2xf32, "L1">) domain [2, 2, 2, 2, 2, 2]
        maps [affine_map<(m, k, o, p, q, r) -> (r, m, q, k, p, o)>,
              affine_map<(m, k, o, p, q, r) -> (o, k, p, q, r)>,
              affine_map<(m, k, o, p, q, r) -> (m)>] overwrite UNLESS
    mem.reduce ins(%xn : memref<2x2x2x2x2x2xf32, "L1">)
        outs(%t : memref<2xf32, "L1">) domain [2, 2, 2, 2, 2, 2]
        maps [affine_map<(k, m, o, p, q, r) -> (r, m, q, k, p, o)>,
              affine_map<(k, m, o, p, q, r) -> (m)>] overwrite UNLESS {
    ^bb0(%e: f32, %f: f32):
      %g = arith.addf %e, %f : f32
      mem.yield %g : f32
    }
  }
  OUT
  func.return
}
"""


def moved(name: str, shape: str, levels: Sequence[str], last: str = "") -> str:
    """Moves of a buffer along some levels, through new ones but for a known last."""
    rank = shape.count("x")
    box = ", ".join("0" * rank), [int(each) for each in shape.split("x")[:-1]]
    lines: list[str] = []
    for number, (near, far) in enumerate(pairwise(levels)):
        source, target = f"%{name}", f"%{name}{'nf'[far == 'L2']}"
        if last and number == len(levels) - 2:
            target = f"%{last}"
        else:
            lines.append(f'{target} = mem.alloc : memref<{shape}, "{far}">')
        types = f'memref<{shape}, "{near}"> to memref<{shape}, "{far}">'
        lines += [
            f"%{name}t = mem.dma {source}[{box[0]}] to {target}[{box[0]}] size {box[1]}"
            f" : {types}",
            f"mem.wait %{name}t",
        ]
        name = target[1:]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("start", "unless"), [("%c0", ""), ("%c0", "unless %i"), ("%m1", "unless %i")]
)
def test_dimensions_that_become_loops(
    start: str, unless: str, interpret_mem: Interpret, simulate_mem: Simulate
) -> None:
    """More summed dimensions than an instruction walks, and a condition below 0."""
    six, five = "2x2x2x2x2x2xf32", "2x2x2x2x2xf32"
    levels = ("L3", "L2", "L1")
    bring = moved("x", six, levels) + "\n" + moved("w", five, levels)
    bring = bring.replace("xfn", "xn").replace("wfn", "wn")
    out = [moved(a, "2xf32", levels[::-1], last=b) for a, b in (("s", "y"), ("t", "z"))]
    text = NEST.replace("BRING", bring).replace("OUT", "\n".join(out))
    text = text.replace("UNLESS", unless)
    generator = np.random.default_rng(0)
    x = generator.integers(-4, 5, (2,) * 6).astype(np.float32)
    w = generator.integers(-4, 5, (2,) * 5).astype(np.float32)
    y, z = np.full(2, np.nan, np.float32), np.full(2, np.nan, np.float32)
    first = text.replace("FROM", start)
    if start == "%m1":
        # What iteration -1 leaves does not matter, but must be there.
        first = first.replace(
            "scf.for", 'mem.fill 7.0 into %s : memref<2xf32, "L1">\nscf.for', 1
        ).replace("scf.for", 'mem.fill 7.0 into %t : memref<2xf32, "L1">\nscf.for', 1)
    interpret_mem(first, [x, w, y, z])
    report = simulate_mem(first, [x, w], False)
    times = 3 if unless else 1
    wanted = times * np.einsum("rmqkpo,okpqr->m", x, w)
    np.testing.assert_array_equal(y, wanted)
    np.testing.assert_array_equal(z, times * x.sum((0, 2, 3, 4, 5)))
    for got, expected in zip(report.outputs.values(), (y, z), strict=True):
        np.testing.assert_array_equal(got, expected)
