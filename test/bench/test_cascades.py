"""The table of reductions that depend on each other says what programs become."""

import pytest

pytest.importorskip("torch")

import cascades
from cascade_cases import CASES, CascadeSizes


@pytest.mark.long
@pytest.mark.parametrize("name", ["documents", "logistic"])
def test_forms_that_run_in_one_loop(name: str, capsys: pytest.CaptureFixture[str]):
    assert cascades.main([name]) == 0

    _, row = capsys.readouterr().out.splitlines()
    assert row.split() == [name, "1", "1", "1"]


def test_unknown_forms_are_told(capsys: pytest.CaptureFixture[str]):
    assert cascades.main(["plain", "plane"]) == 1
    assert capsys.readouterr().err.endswith("got plane\n")


@pytest.mark.parametrize("name", CASES)
def test_forms_run_on_their_inputs(name: str):
    case = CASES[name]
    sizes = CascadeSizes(b=1, h=2, s=8, d=4, rows=6, k=8, n=40)
    inputs = case.inputs(sizes)

    assert [tuple(each.shape) for each in inputs] == list(case.shapes(sizes))
    assert not any(
        each.dtype.is_floating_point for each in map(inputs.__getitem__, case.limits)
    )
