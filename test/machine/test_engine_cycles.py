"""The closed forms, against another simulator and against counts step by step."""

import pytest

from tlf.machine.engine_cycles import matmul_cycles, transfer_cycles, vector_cycles
from tlf.machine.machine_spec import DATAFLOWS, Dataflow

CONVOLUTION = (1, 56 * 56, 64, 256)
"""A 1 x 1 convolution, 56 x 56 pixels, 256 to 64 channels, as a product."""


@pytest.mark.parametrize(
    ("dataflow", "cycles"), [("ws", 51680), ("os", 62328), ("is", 123872)]
)
def test_unpipelined_array_takes_what_scale_sim_says(dataflow: Dataflow, cycles: int):
    """SCALE-Sim 3.0.0 on an array of 32 x 32 prints these cycles for the layer."""
    found = matmul_cycles(
        *CONVOLUTION, rows=32, cols=32, cycles=1, dataflow=dataflow, pipelined=False
    )
    assert found == cycles


def output_stationary(rows: int, cols: int, steps: int) -> int:
    """
    Count the cycles of one pass, cell by cell: the cell in row r and column c does
    step s in cycle r + c + s.
    """
    last = [r + c + s for r in range(rows) for c in range(cols) for s in range(steps)]
    return max(last) + 1


@pytest.mark.parametrize(
    ("rows", "cols", "steps"), [(1, 1, 1), (3, 5, 7), (8, 2, 1), (4, 4, 9)]
)
def test_one_pass_cell_by_cell(rows: int, cols: int, steps: int):
    found = matmul_cycles(
        1, rows, cols, steps, rows=rows, cols=cols, cycles=1, pipelined=False
    )
    assert found == output_stationary(rows, cols, steps)


@pytest.mark.parametrize("dataflow", DATAFLOWS)
def test_a_pipeline_is_never_slower(dataflow: Dataflow):
    for m in (1, 5, 40):
        for k in (1, 9, 33):
            unpipelined, pipelined = (
                matmul_cycles(
                    2,
                    m,
                    12,
                    k,
                    rows=8,
                    cols=4,
                    cycles=0.5,
                    dataflow=dataflow,
                    pipelined=each,
                )
                for each in (False, True)
            )
            assert pipelined <= unpipelined


def test_rates_round_up():
    assert transfer_cycles(65, 64) == 2
    assert transfer_cycles(3, 1.5) == 2
    assert vector_cycles(33, lanes=16, factor=1.5) == 5
    assert vector_cycles(32, lanes=16) == 2
