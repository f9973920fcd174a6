"""Checks of calls on GPUs find wrong values, and memory that grows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch")

import gpu_call_checks
from gpu_call_checks import CallCheck, check_growth, difference, measure_growth
from torch_model import T

SAMPLE = {"requested": 5.0, "reserved": 6.0, "device": 7.0, "host": 8.0}


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch) -> CallCheck:
    """Return the checks of a layer that PyTorch compiles to itself."""

    def compile_to_itself(network: Any, backend: object) -> Any:
        return network

    monkeypatch.setattr(gpu_call_checks.T, "compile", compile_to_itself)
    monkeypatch.setattr(gpu_call_checks, "cuda", SimpleNamespace(empty_cache=bool))
    return CallCheck(T.nn.Linear(4, 4), [T.ones(2, 4)])


def test_differences():
    one = T.tensor([1.0, -4.0])
    assert difference((one, 3), (one + 1, 3)) == pytest.approx(1 / 3)
    assert difference(one * float("nan"), one) == float("inf")
    with pytest.raises(AssertionError, match="expected a result on cpu: meta"):
        difference(one.to("meta"), one)


def test_right_calls_pass(check: CallCheck):
    with T.no_grad():
        check.check_addresses()
        check.check_weights()
        check.check_captures_beside_work()
    assert check.worst == 0.0


def test_wrong_calls_are_found(check: CallCheck):
    inner, calls = check.compiled, [0]

    def forget_every_sixth_write(*arguments: Any) -> Any:
        calls[0] += 1
        return inner(*arguments) * (0 if calls[0] % 6 == 0 else 1)

    check.compiled = forget_every_sixth_write
    with T.no_grad(), pytest.raises(AssertionError, match="equal values, got 1"):
        check.check_addresses()


@pytest.mark.parametrize("grows", [*SAMPLE, ""])
def test_memory_that_grows_is_found(
    grows: str, check: CallCheck, monkeypatch: pytest.MonkeyPatch
):
    samples: list[dict[str, float]] = []

    def measure(device: Any) -> dict[str, float]:
        samples.append(
            {k: v + 20 * len(samples) * (k == grows) for k, v in SAMPLE.items()}
        )
        return samples[-1]

    monkeypatch.setattr(gpu_call_checks, "measure_memory", measure)
    with T.no_grad():
        growth = measure_growth(check, 50)
    assert growth == {name: 80.0 * (name == grows) for name in SAMPLE}
    if not grows:
        check_growth(growth)
        return
    with pytest.raises(AssertionError, match=f"{grows} memory: expected growth up to"):
        check_growth(growth)
