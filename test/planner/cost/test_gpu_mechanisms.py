"""Waiting in the model of a GPU: chains, narrow accesses, short rows."""

from math import ceil

import pytest
from gpu_programs import H200, Sizes, changed, members, price, product, rows_sum

from tlf.dialects.product_precision import FACTOR_SPLITS
from tlf.dialects.target import TargetSpec
from tlf.planner.cost.gpu.gpu_estimator import GpuEstimator
from tlf.planner.cost.gpu.gpu_parameters import Chip
from tlf.planner.cost.gpu.program_resources import REGISTER
from tlf.planner.settings.gpu_calibration import MATRIX_INSTRUCTIONS, TRITON_CALIBRATION


def chip() -> Chip:
    found = Chip.from_target(H200)
    assert found is not None
    return found


def test_narrow_matrix_instructions_wait_for_each_other():
    deep = product(64, 64, 16384, "f16")
    narrow = price(deep, (16, 16), (1024,))
    assert narrow.cycles > 16384 / 16 * chip().gpu.matrix_latency
    slower = changed(H200, "gpu.matrix_latency", 2)
    assert price(deep, (16, 16), (1024,), slower).cycles > 1.5 * narrow.cycles
    # Those of full rows need not.
    wide = price(deep, (64, 16), (256,))
    assert price(deep, (64, 16), (256,), slower).cycles == wide.cycles


def vector_exp(size: int) -> str:
    type_ = f"tensor<{size}xf32>"
    return (
        f"func.func @f(%x: {type_}) -> {type_} {{\n"
        f"%y = graph.exp %x : {type_}\n"
        f"func.return %y : {type_}\n}}"
    )


def test_borders_that_masks_cut_make_accesses_narrow():
    size = 10_000_000
    even, odd = (price(vector_exp(each), (2048,)) for each in (size, size + 1))
    half = price(vector_exp(size + 2), (2048,))
    # One element at a time instead of four, and each store leaves a part of a sector.
    assert odd.time_by_resource["loads"] > 2 * even.time_by_resource["loads"]
    assert (
        odd.time_by_resource["cache"]
        > half.time_by_resource["cache"]
        > 2 * even.time_by_resource["cache"]
    )
    assert odd.outer_bytes == pytest.approx(even.outer_bytes, rel=1e-3)


def spaced_windows(offset: int) -> str:
    """Return a convolution that reads rows `offset` and `offset` + 2 of an image."""
    image, result = "tensor<1x1x1x3xf32>", "tensor<1x1x2x2xf32>"
    weight = "tensor<1x1x1x1xf32>"
    return (
        f"func.func @f(%x: {image}, %w: {weight}) -> {result} {{\n"
        f"%y = graph.conv2d %x, %w strides [2, 3] padding [{-offset}, 0, "
        f"{2 + offset}, 1] : ({image}, {weight}) -> {result}\n"
        f"func.return %y : {result}\n}}"
    )


def test_windows_in_padding_cost_no_memory_traffic():
    sizes: Sizes = (1, 1, 1, 2)
    padded, read = (price(spaced_windows(offset), sizes) for offset in (-1, 0))
    assert padded.outer_bytes < read.outer_bytes
    assert padded.time_by_resource["cache"] <= read.time_by_resource["cache"]


def test_short_rows_cost_memory_more_than_their_bytes():
    def slowdown(columns: int) -> float:
        found = price(rows_sum(4096, 4096, 0), (columns,), (512,))
        return (
            found.time_by_resource["memory"]
            * chip().memory.bandwidth
            / found.outer_bytes
        )

    assert slowdown(8) == pytest.approx(1 + chip().gpu.gap / 32, rel=1e-2)
    assert slowdown(8) > slowdown(32) > slowdown(1024) >= 1


def rows_product(size: int, precision: str, is_transposed: bool) -> str:
    """Return a product with a right factor that is transposed, or not."""
    type_ = f"tensor<{size}x{size}xf32>"
    right = "(k, j)" if is_transposed else "(j, k)"
    maps = ", ".join(
        f"affine_map<(i, j, k) -> {each}>" for each in ("(i, k)", right, "(i, j)")
    )
    return (
        f"func.func @f(%x: {type_}, %w: {type_}) -> {type_} {{\n"
        f'%y = graph.contract %x, %w maps [{maps}] precision "{precision}" '
        f": ({type_}, {type_}) -> {type_}\n"
        f"func.return %y : {type_}\n}}"
    )


def test_threads_transpose_factors_of_tf32():
    rows, columns = (
        price(rows_product(2048, "tf32", each), (128, 128), (32,))
        for each in (False, True)
    )
    # The columns of a tile are copied element by element.
    tiles = 2048**3 / 128 / 128 / 32
    copied = 4 * 128 * 32 * tiles / chip().processors
    added = columns.time_by_resource["shared"] - rows.time_by_resource["shared"]
    conflicts = MATRIX_INSTRUCTIONS.transpose_conflicts - 1
    assert added == pytest.approx(
        conflicts * copied / chip().gpu.shared_bandwidth, rel=0.05
    )
    loads = columns.time_by_resource["loads"] - rows.time_by_resource["loads"]
    assert loads == pytest.approx(copied / 4 / chip().gpu.load_lanes, rel=0.05)
    assert columns.time_by_resource["matrix"] == rows.time_by_resource["matrix"]
    # Narrow instructions read single elements of both orders.
    rows, columns = (
        price(rows_product(2048, "tf32", each), (32, 128), (32,))
        for each in (False, True)
    )
    assert rows.time_by_resource["shared"] == columns.time_by_resource["shared"]


@pytest.mark.parametrize(("precision", "once"), [("tf32x3", "tf32"), ("bf16x6", None)])
def test_split_factors_take_an_instruction_per_product_of_parts(
    precision: str, once: str | None
):
    split = FACTOR_SPLITS[precision]
    cost, shallow = (
        price(rows_product(2048, precision, False), (128, 128), (depth,))
        for depth in (32, 16)
    )
    rate = chip().matrix_rates[split.element] * chip().processors
    peak = split.products * 2 * 2048**3 / rate
    assert peak <= cost.time_by_resource["matrix"] < 1.1 * peak
    # Lanes split factors, wait, and add results of each iteration to the accumulator.
    waits = [each.time_by_resource["matrix"] for each in (cost, shallow)]
    lanes = chip().lane_rate * chip().processors
    steps = MATRIX_INSTRUCTIONS.split_steps * (split.parts - 1)
    factors = steps * 2 * 2048**3 / 128
    combined = MATRIX_INSTRUCTIONS.combine_steps * 2048**3 / 32
    for each, wait, times in zip((cost, shallow), waits, (1, 2), strict=True):
        expected = wait + (factors + times * combined) / lanes
        assert each.time_by_resource["lanes"] == pytest.approx(expected, rel=0.1)
    if once is None:
        return
    plain = price(rows_product(2048, once, False), (128, 128), (32,))
    assert cost.time_by_resource["shared"] > 2 * plain.time_by_resource["shared"]
    # The sum of an iteration and all parts of the left factor are in registers, of
    # twice as many threads.
    assert cost.resources.warp_count == 2 * plain.resources.warp_count
    assert (
        cost.resources.registers_per_thread > plain.resources.registers_per_thread / 2
    )


def test_sums_of_split_factors_are_converted_where_groups_of_warps_share_rows():
    high, flat = (
        price(rows_product(2048, "bf16x6", False), tile, (32,))
        for tile in ((128, 128), (64, 256))
    )
    assert high.resources.warp_count == flat.resources.warp_count == 8
    assert flat.cycles > 1.5 * high.cycles
    assert flat.time_by_resource["shared"] > 2 * high.time_by_resource["shared"]


def test_factors_that_go_through_registers_keep_warps_busy():
    even = price(product(1024, 2048, 512, "f16"), (64, 64), (64,))
    odd = price(product(1023, 2047, 511, "f16"), (64, 64), (64,))
    assert even.time_by_resource["warps"] == 0
    assert even.resources.stages > odd.resources.stages == 1
    # Warps load, store to shared memory, and compute addresses one after the other.
    assert (
        odd.time_by_resource["warps"]
        > odd.time_by_resource["loads"] + odd.time_by_resource["lanes"]
    )
    assert odd.cycles > odd.time_by_resource["warps"] > 2 * even.cycles


def test_results_are_left_after_the_loop():
    found = price(product(4096, 4096, 64), (128, 128), (64,))
    left = 2 * 4096**2 / chip().memory.bandwidth
    assert found.time_by_resource["latency"] > left
    assert found.bottleneck == "latency"


def test_a_factor_that_lies_across_its_matrix_is_slow_to_read():
    image, filters = "tensor<8x256x56x56xf16>", "tensor<64x256x1x1xf16>"
    matrix, out = "tensor<64x256xf16>", "tensor<8x64x56x56xf16>"
    text = (
        f"func.func @f(%x: {image}, %w: {filters}) -> {out} {{\n"
        f"%v = graph.reshape %w : ({filters}) -> {matrix}\n"
        "%y = graph.contract %x, %v maps [\n"
        "affine_map<(n, o, h, w, c) -> (n, c, h, w)>,\n"
        "affine_map<(n, o, h, w, c) -> (o, c)>,\n"
        "affine_map<(n, o, h, w, c) -> (n, o, h, w)>]\n"
        f": ({image}, {matrix}) -> {out}\n"
        f"func.return %y : {out}\n}}"
    )
    # The first axis of a tile of the result decides what the rows of the matrix are:
    # channels, with pixels as columns, or pixels, which lie side by side in memory.
    along = price(text, (1, 64, 2, 64), (64,))
    across = price(text, (2, 32, 2, 64), (64,))
    assert across.time_by_resource["shared"] > 3 * along.time_by_resource["shared"]
    assert across.cycles > 2 * along.cycles
    # Axes of one element keep no load from being in flight.
    assert along.resources.stages == across.resources.stages > 1


def test_functions_take_the_steps_that_a_target_says():
    def lanes(target: TargetSpec) -> float:
        type_ = "tensor<4096x4096xbf16>"
        text = (
            f"func.func @f(%x: {type_}) -> {type_} {{\n"
            f"%y = graph.gelu %x <erf> : {type_}\n"
            f"func.return %y : {type_}\n}}"
        )
        return price(text, (1, 2048), (), target).time_by_resource["lanes"]

    programs = -(-(4096**2 // 2048) // 132)
    steps = 2048 * programs / chip().lane_rate
    more = lanes(changed(H200, "engines.vector.steps.erf", 2)) - lanes(H200)
    assert more == pytest.approx(16 * steps)


def computed(body: str) -> str:
    """A program with an elementwise body of `%x`, which is large."""
    type_ = "tensor<4096x4096xf32>"
    return (
        f"func.func @f(%x: {type_}) -> {type_} {{\n"
        f"{body.format(T=type_, S=f'({type_}, {type_})')}\n"
        f"func.return %y : {type_}\n}}"
    )


def test_special_functions_are_computed_beside_the_lanes():
    each = -(-(4096**2 // 2048) // 132) * 2048
    found = price(computed("%y = graph.exp %x : {T}"), (1, 2048))
    assert found.time_by_resource["special"] == pytest.approx(each / 16)
    lanes = price(computed("%y = graph.abs %x : {T}"), (1, 2048)).time_by_resource[
        "lanes"
    ]
    more = found.time_by_resource["lanes"] - lanes
    assert more == pytest.approx(each / chip().lane_rate)


def test_products_are_one_step_with_their_sum():
    def lanes(body: str) -> float:
        return price(computed(body), (1, 2048)).time_by_resource["lanes"]

    one = lanes("%y = graph.add %x, %x : {S} -> {T}")
    product = "%p = graph.mul %x, %x : {S} -> {T}\n"
    assert lanes(product + "%y = graph.add %p, %x : {S} -> {T}") == one
    assert lanes(product + "%y = graph.mul %p, %x : {S} -> {T}") > one
    assert lanes(product + "%y = graph.add %p, %p : {S} -> {T}") > one


def rectified(rows: int, keys: int) -> str:
    """Two products, the second one of what is computed of the first."""
    q, k, v = (f"tensor<{e}xbf16>" for e in (f"{rows}x64", f"64x{keys}", f"{keys}x64"))
    s = f"tensor<{rows}x{keys}xbf16>"
    return (
        f"func.func @f(%q: {q}, %k: {k}, %v: {v}) -> {q} {{\n"
        f"%s = graph.matmul %q, %k : ({q}, {k}) -> {s}\n"
        f"%r = graph.relu %s : {s}\n"
        f"%o = graph.matmul %r, %v : ({s}, {v}) -> {q}\n"
        f"func.return %o : {q}\n}}"
    )


def test_what_is_computed_of_a_product_is_multiplied_from_registers():
    found = price(rectified(1024, 2048), (64, 64), (128,)).resources
    # Tiles of queries, keys and values, but not of what is between the products.
    keys = values = 64 * 128
    assert found.shared_memory_bytes == 2 * (64 * 64 + found.stages * (keys + values))
    more = price(rectified(1024, 2048), (64, 64), (256,)).resources
    assert more.registers_per_thread > found.registers_per_thread


def test_values_are_narrowed_while_they_are_summed():
    x, w, wide = "tensor<256x64xbf16>", "tensor<64x256xbf16>", "tensor<256x256xf32>"
    row, out = "tensor<256x1xf32>", "tensor<256x256xbf16>"
    sums = "".join(
        f"%p{n} = graph.matmul %x, %w{n} : ({x}, {w}) -> {wide}\n"
        f"%e{n} = graph.exp %p{n} : {wide}\n"
        f"%s{n} = graph.reduce %e{n} <sum> axes [1] keepdims : ({wide}) -> {row}\n"
        f"%y{n} = graph.cast %e{n} : ({wide}) -> {out}\n"
        for n in (0, 1)
    )
    text = (
        f"func.func @f(%x: {x}, %w0: {w}, %w1: {w}) -> {out} {{\n{sums}"
        f"%y = graph.add %y0, %y1 : {out}\n"
        f"%s = graph.add %s0, %s1 : {row}\n"
        f"%t = graph.cast %s : ({row}) -> tensor<256x1xbf16>\n"
        f"%o = graph.mul %y, %t : ({out}, tensor<256x1xbf16>) -> {out}\n"
        f"func.return %o : {out}\n}}"
    )
    found = price(text, (32, 256)).resources
    # The first exponentials in 16 bits, what the second are computed of, and sums.
    live = 32 * (256 * (2 + 4) + 2 * 4)
    assert found.registers_per_thread == TRITON_CALIBRATION.base_registers + ceil(
        live / (found.warp_count * 32 * REGISTER)
    )


def test_what_follows_a_loop_adds_to_it():
    def cycles(function: str) -> float:
        left, right = "tensor<4096x1024xbf16>", "tensor<1024x4096xbf16>"
        text = (
            f"func.func @f(%a: {left}, %b: {right}) -> tensor<4096x4096xf32> {{\n"
            f"%p = graph.matmul %a, %b : ({left}, {right}) -> tensor<4096x4096xf32>\n"
            f"%y = graph.{function} %p : tensor<4096x4096xf32>\n"
            "func.return %y : tensor<4096x4096xf32>\n}"
        )
        return price(text, (128, 128), (64,)).cycles

    tiles = -(-1024 // 132)
    more = cycles("erf") - cycles("abs")
    assert more == pytest.approx(tiles * 128 * 128 * 15 / chip().lane_rate)


def test_elements_that_are_stored_one_by_one_add_to_a_loop():
    odd, even = (
        price(product(4096, columns, 1024, "bf16"), (128, 128), (64,))
        for columns in (4097, 4098)
    )
    tiles = -(-32 * 33 // 132)
    each = TRITON_CALIBRATION.narrow_store_cycles * 128 * 128 / 32
    assert odd.cycles - even.cycles > tiles * each
    # An element of f32 is a word.
    wide = price(product(4096, 4097, 1024, "f32"), (128, 128), (64,))
    even = price(product(4096, 4098, 1024, "f32"), (128, 128), (64,))
    assert wide.cycles - even.cycles < tiles * each


@pytest.mark.parametrize(
    ("text", "start", "is_left"),
    [
        (product(8192, 1024, 4096, "bf16"), ((128, 256), (64,)), False),
        (product(64, 64, 16384, "f16"), ((64, 64), (64,)), True),
    ],
)
def test_a_search_leaves_its_start_for_something(
    text: str, start: tuple[Sizes, Sizes], is_left: bool
):
    tiles = GpuEstimator.create_for_level(H200, H200.levels["L1"])
    assert tiles is not None
    _module, group = members(text)
    plan = tiles.find_plan(group)
    assert plan is not None
    tile, reduce = start
    found = price(text, plan.tile_sizes, plan.reduce_sizes)
    before = price(text, tile, reduce)
    assert (plan.tile_sizes != tile) == is_left
    assert found.cycles < 0.98 * before.cycles or not is_left
