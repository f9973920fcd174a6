"""Moves whose rows are where indices say: what arrives, how long it takes, traps."""

import numpy as np
import pytest

from tlf.runtime.npu import NPUParseError, NPUTrap, Program, Report, parse, run
from tlf.runtime.npu.dtypes import DTYPES, Array

CELLS = 4096
"""Address of indices, behind the table."""


@pytest.fixture
def indexed(machine: str) -> str:
    """The machine with DMA engines that take 7 cycles for each row."""
    for ends in ("from=L3 to=L2", "from=L2 to=L3"):
        machine = machine.replace(ends, f"{ends} indexed=7")
    return machine


def array(dtype: str, seed: int, shape: tuple[int, ...]) -> Array:
    generator = np.random.default_rng(seed)
    if dtype == "i1":
        return generator.integers(0, 2, shape).astype(np.bool_)
    return (generator.standard_normal(shape) * 50).astype(DTYPES[dtype])


def names(seed: int, shape: tuple[int, ...], bound: int, kind: str = "i64") -> Array:
    """Indices with some below 0, some beyond the bound, and many twice."""
    drawn = np.random.default_rng(seed).integers(-3, bound + 3, shape)
    return drawn.astype(DTYPES[kind])


def shaped(value: Array) -> str:
    return "x".join(map(str, value.shape))


def gathered(machine: str, table: Array, indices: Array, move: str) -> Program:
    """A gather from L3 to L2 at 0 by indices in L3, and its result back to `y`."""
    kind = {dtype: name for name, dtype in DTYPES.items()}
    size, rows, cols = table.itemsize, *indices.shape[:1], table.shape[-1]
    return parse(
        f"""{machine}
.input t L3 0 {kind[table.dtype]} {shaped(table)}
.input i L3 {CELLS} {kind[indices.dtype]} {shaped(indices)}
.output y L3 8192 {kind[table.dtype]} {rows}x{cols}
.code
{move}
signal dma_l3_l2 s0
wait dma_l2_l3 s0
dma dma_l2_l3 dst=L3[8192]({size}) src=L2[0]({size}) shape=({rows * cols}) \
type={kind[table.dtype]}
halt
"""
    )


@pytest.mark.parametrize("kind", ["i32", "i64"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_rows(indexed: str, dtype: str, kind: str):
    """Every row of a result is the one that its index names, or fill."""
    table, indices = array(dtype, 1, (9, 5)), names(2, (13,), 9, kind)
    size, item = table.itemsize, indices.itemsize
    program = gathered(
        indexed,
        table,
        indices,
        f"dma dma_l3_l2 dst=L2[0]({5 * size},{size}) src=L3[0](0,{size}) "
        f"shape=(13,5) type={dtype} index=L3[{CELLS}]({item},0):{kind} "
        f"gather=({5 * size},9) fill=1",
    )
    found = run(program, {"t": table, "i": indices}).outputs["y"]
    known = (indices >= 0) & (indices < 9)
    wanted = np.where(known[:, None], table[np.where(known, indices, 0)], 1)
    assert np.array_equal(found, wanted.astype(table.dtype))


def test_elements_and_ranges(indexed: str):
    """One index for each element, of which some are not read."""
    table, indices = array("f32", 3, (6, 7)), names(4, (6, 7), 6)
    program = gathered(
        indexed,
        table,
        indices,
        f"dma dma_l3_l2 dst=L2[0](28,4) src=L3[0](0,4) shape=(6,7) type=f32 "
        f"index=L3[{CELLS}](56,8):i64 gather=(28,6) inside=(1:9,2:6) fill=-2",
    )
    found = run(program, {"t": table, "i": indices}).outputs["y"]
    wanted = np.full((6, 7), -2, np.float32)
    for row in range(1, 6):
        for col in range(2, 6):
            if 0 <= (name := indices[row, col]) < 6:
                wanted[row, col] = table[name, col]
    assert np.array_equal(found, wanted)


def scattered(
    machine: str, table: Array, indices: Array, rows: Array, word: str = ""
) -> Report:
    """Rows in L2 put where indices say, in a table that is also the result."""
    kind = {dtype: name for name, dtype in DTYPES.items()}[table.dtype]
    size, cols, count = table.itemsize, table.shape[1], len(indices)
    program = parse(
        f"""{machine}
.input t L3 0 {kind} {shaped(table)}
.input i L3 {CELLS} i64 {count}
.input r L3 8192 {kind} {shaped(rows)}
.output y L3 0 {kind} {shaped(table)}
.code
dma dma_l3_l2 dst=L2[0]({size}) src=L3[8192]({size}) shape=({count * cols}) type={kind}
dma dma_l3_l2 dst=L2[{CELLS}](8) src=L3[{CELLS}](8) shape=({count}) type=i64
signal dma_l3_l2 s0
wait dma_l2_l3 s0
dma dma_l2_l3 dst=L3[0](0,{size}) src=L2[0]({cols * size},{size}) \
shape=({count},{cols}) type={kind} index=L2[{CELLS}](8,0):i64 \
scatter=({cols * size},{len(table)}) {word}
halt
"""
    )
    return run(program, {"t": table, "i": indices, "r": rows})


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_last_row_for_a_place_stays(indexed: str, dtype: str):
    table, rows = array(dtype, 5, (8, 3)), array(dtype, 6, (40, 3))
    indices = names(7, (40,), 8)
    wanted = table.copy()
    for name, row in zip(indices, rows, strict=True):
        if 0 <= name < 8:
            wanted[name] = row
    assert np.array_equal(scattered(indexed, table, indices, rows).outputs["y"], wanted)


@pytest.mark.parametrize("dtype", ["f32", "i32", "i64"])
def test_every_row_for_a_place_is_added(indexed: str, dtype: str):
    table, rows = array(dtype, 8, (8, 3)), array(dtype, 9, (40, 3))
    indices = names(10, (40,), 8)
    wanted = table.copy()
    for name, row in zip(indices, rows, strict=True):
        if 0 <= name < 8:
            wanted[name] += row
    found = scattered(indexed, table, indices, rows, "accumulate").outputs["y"]
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize(
    ("table", "along", "cycles", "bus"),
    [
        # 4 rows of 32 bytes that start at bursts: they take longer to be found.
        ("L3[0](0,4) shape=(4,8) gather=(32,9)", "(8,0)", 28, 128 + 32),
        # The same off bursts: each may lie in two of them.
        ("L3[4](0,4) shape=(4,8) gather=(36,9)", "(8,0)", 36, 256 + 32),
        # 32 elements by their own indices: a burst for each.
        ("L3[0](0,0) shape=(4,8) gather=(4,9)", "(64,8)", 224, 32 * 32 + 256),
        # Two rows of 256 bytes: the channel takes longer.
        ("L3[0](0,4) shape=(2,64) gather=(256,9)", "(8,0)", 68, 512 + 32),
    ],
)
def test_time_of_rows(indexed: str, table: str, along: str, cycles: int, bus: int):
    """The longer of finding the rows, and of moving their bursts and the indices'."""
    text = f"dma dma_l3_l2 dst=L2[0](256,4) src={table} type=f32 "
    text += f"index=L3[{CELLS}]{along}:i64"
    program = parse(f"{indexed}.code\n{text}\nhalt\n")
    report = run(program, {}, functional=False)
    assert report.traffic["L3"].bus_read == bus
    # It is issued at 1; the indices have to come before the rows: two latencies.
    assert report.cycles == 1 + cycles + 2 * 100


def test_time_does_not_depend_on_the_indices(indexed: str):
    """With and without data, and in loops whose iterations are added up."""
    table, indices = array("f32", 1, (9, 5)), names(2, (13,), 9)
    program = gathered(
        indexed,
        table,
        indices,
        f"""loop %i = 0 to 40 {{
  %at = rem %i 3
  %at = mul %at 8
  %at = add %at {CELLS}
  dma dma_l3_l2 dst=L2[0](20,4) src=L3[0](0,4) shape=(13,5) type=f32 \
index=L3[%at](0,0):i64 gather=(20,9)
}}""",
    )
    inputs = {"t": table, "i": indices}
    long = run(program, {}, functional=False, step_by_step=True)
    short = run(program, {}, functional=False)
    assert short == long
    assert run(program, inputs).cycles == short.cycles


def test_a_table_counts_no_further_than_one_row(indexed: str):
    """All indices may be equal: nothing but them must be read."""
    table, indices = array("f32", 1, (9, 5)), names(2, (13,), 9)
    move = "dma dma_l3_l2 dst=L2[0](20,4) src=L3[0](0,4) shape=(13,5) type=f32 "
    move += f"index=L3[{CELLS}](8,0):i64 gather=(20,9)"
    program = gathered(indexed, table, indices, move)
    report = run(program, {"t": table, "i": indices})
    assert report.compulsory["L3"].read == indices.nbytes
    assert report.traffic["L3"].read == 13 * 20 + indices.nbytes


GATHER = (
    "dma dma_l3_l2 dst=L2[0](20,4) src=L3[0](0,4) shape=(2,5) type=f32 "
    "index=L3[384](8,0):i64 gather="
)
STORE = "dma dma_l2_l3 dst=L3[160](4) src=L2[512](4) shape=(5) type=f32\n"
"""It writes the last row of the table, which no index names."""


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (f"{STORE}{GATHER}(20,9)", "`dma_l2_l3` writes it, and no wait orders that"),
        (f"{GATHER}(20,9)\n{STORE}", "`dma_l3_l2` reads it, and no wait orders that"),
        (f"{GATHER}(20,900)", "was never written"),
        (f"{GATHER}(20000000000,9)", "is out of the capacity of"),
        (f"{GATHER}(18,9)", "not multiples of the element size 4"),
    ],
)
def test_traps(indexed: str, code: str, reason: str):
    arrays = {"t": np.zeros((9, 5), np.float32), "i": np.zeros(2, np.int64)}
    text = f"{indexed}.input t L3 0 f32 9x5\n.input i L3 384 i64 2\n"
    text += f".input u L2 512 f32 5\n.code\n{code}\nhalt\n"
    with pytest.raises(NPUTrap) as caught:
        run(parse(text), {**arrays, "u": np.zeros(5, np.float32)})
    assert reason in caught.value.reason


def test_nothing_is_named(indexed: str):
    """A table without elements gives fill, whatever the indices are."""
    table, indices = array("f32", 1, (9, 5)), names(2, (4,), 9)
    move = "dma dma_l3_l2 dst=L2[0](20,4) src=L3[0](0,4) shape=(4,5) type=f32 "
    move += f"index=L3[{CELLS}](8,0):i64 gather=(20,0) fill=3"
    found = run(gathered(indexed, table, indices, move), {"t": table, "i": indices})
    assert np.array_equal(found.outputs["y"], np.full((4, 5), 3, np.float32))


MOVE = "dma dma_l3_l2 dst=L2[0](4) src=L3[0](0) shape=(4) type=f32 "
STORED = "dma dma_l2_l3 dst=L3[0](0) src=L2[0](4) shape=(4) type=f16 "
INDEX = "index=L2[64](8):i64 "


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (MOVE + INDEX, "expected `index=` with one of `gather=` and `scatter=`"),
        (MOVE + "gather=(4,9)", "expected `index=` with one of"),
        (MOVE + INDEX + "gather=(4,9) scatter=(4,9)", "expected `index=` with one of"),
        (MOVE + INDEX + "gather=(4)", "a step and a bound of at least 0, got (4)"),
        (MOVE + INDEX + "gather=(4,-9)", "a step and a bound of at least 0"),
        (MOVE + "index=L1[64](8):i64 gather=(4,9)", "indices in L3 or L2, got L1"),
        (MOVE + "index=L2[64](4):f32 gather=(4,9)", "of i32 or i64, got f32"),
        (MOVE + "index=L2[64](8,8):i64 gather=(4,9)", "expected 1 strides of `index`"),
        (MOVE + "index=#1 gather=(4,9)", "expected an address for `index`"),
        (MOVE + "accumulate", "expected `scatter=` where a move says `accumulate`"),
        (STORED + INDEX + "scatter=(4,9) inside=(0:1)", "no `inside` of a scatter"),
        (
            STORED + INDEX + "scatter=(4,9) accumulate",
            "expected `accumulate` of a scatter of f32 or i32 or i64, got",
        ),
        (
            "%k = mov 1\n" + STORED + INDEX + "scatter=(4,9) accumulate=%k",
            "expected `accumulate` without a register in a move",
        ),
        (
            "dma dma_l2_l1 dst=L1[0](4) src=L2[0](0) shape=(4) type=f32 "
            + INDEX
            + "gather=(4,9)",
            "dma_l2_l1 cannot follow indices",
        ),
    ],
)
def test_messages(indexed: str, code: str, reason: str):
    with pytest.raises(NPUParseError) as caught:
        parse(f"{indexed}.code\n{code}\nhalt\n")
    assert reason in caught.value.reason
