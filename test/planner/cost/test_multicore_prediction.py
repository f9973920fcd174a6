"""Predicted against simulated time of loops on several cores."""

import pytest
from cores import attention, matmul, softmax
from predicted_cycles import predicted_and_taken

from tlf.dialects.target import load_target_spec

pytestmark = pytest.mark.usefixtures("first_plans")


@pytest.mark.parametrize(
    ("text", "target"),
    [
        (matmul(64, "f16"), "npu-tiny:cores=3"),
        (softmax(500, 300), "npu-tiny:cores=3"),
        (softmax(64, 512), "npu-tiny:cores=2"),
        (matmul(256, "f16"), "npu-4core"),
        pytest.param(attention(2, 64, 32), "npu-tiny:cores=2", marks=pytest.mark.long),
        pytest.param(attention(4, 96, 32), "npu-tiny:cores=4", marks=pytest.mark.long),
    ],
)
def test_loops_on_several_cores_take_what_is_predicted(text: str, target: str):
    predicted, taken = predicted_and_taken(text, load_target_spec(target))
    assert abs(predicted - taken) <= 0.005 * taken


@pytest.mark.parametrize("cores", [2, 3, 4])
def test_many_iterations_are_extrapolated(cores: int):
    """About 4,000 rows are computed, of which few are executed for the estimate."""
    text = softmax(4000, 512)
    target = load_target_spec(f"npu-tiny:cores={cores}")
    predicted, taken = predicted_and_taken(text, target)
    assert abs(predicted - taken) <= 0.0001 * taken
