"""Programs that join tensors, whatever these are and whoever else uses them."""

import pytest
from differential import check, make_case
from joined_programs import joined_program

ELEMENTS = ("f16", "bf16", "f32")
TARGETS = ("npu", "npu-tiny", "npu-4core")


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", range(60))
def test_joined(seed: int) -> None:
    case = make_case(joined_program(seed, ELEMENTS[seed % 3]), seed)
    assert check(case, TARGETS[seed // 3 % 3]) is None, case.text


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", range(60, 90))
def test_joined_in_random_tiles(seed: int) -> None:
    case = make_case(joined_program(seed, "f32", 5), seed)
    assert check(case, "npu-tiny", plans=seed) is None, case.text
