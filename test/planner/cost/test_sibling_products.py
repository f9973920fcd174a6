"""Products of one tensor in one loop, in the model of a GPU."""

import pytest
from gpu_programs import price, product, sibling_products

from tlf.planner.settings.gpu_calibration import TRITON_CALIBRATION


@pytest.mark.parametrize(("columns", "warps"), [(64, 4), (128, 8)])
def test_threads_hold_all_accumulators(columns: int, warps: int):
    tile = (128, columns)
    both = price(sibling_products(128, columns, 512), tile, (64,)).resources
    one = price(product(128, columns, 512), tile, (64,)).resources

    assert both.warp_count == warps
    elements = 128 * columns // 32
    assert both.registers_per_thread * warps >= (
        one.registers_per_thread * one.warp_count + elements
    )


def test_products_that_do_not_need_each_other_are_not_slowed_down():
    """One loop costs less than two, because the common factor is loaded once."""
    sizes = 1024, 14336, 4096
    together = price(sibling_products(*sizes), (128, 128), (64,))
    apart = price(product(*sizes), (128, 128), (64,))

    assert together.cycles < 2 * apart.cycles
    slowest = max(together.time_by_resource.values())
    assert together.cycles < TRITON_CALIBRATION.fused_reduction_slowdown * slowest
