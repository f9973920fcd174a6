"""Where numerics are relaxed, what is rounded less often is not further off."""

import numpy as np
import pytest

pytest.importorskip("torch")

import cascades
from cascade_form_runs import named, wide
from cascade_forms import CASES, Sizes, T
from differential import compiled_results
from torch_check import tensors

SIZES = Sizes(b=1, h=2, s=40, d=8, rows=12, k=24, n=40)
MODULE = "builtin.module {"


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", ["soft_capped", "alibi", "differential", "gate"])
def test_errors(name: str):
    """In multiples of those of strict numerics, against f64."""
    case = CASES[name]
    inputs = case.inputs(SIZES, T.bfloat16, seed=1)
    text, given = str(cascades.imported(case, inputs)), named(case, inputs)
    (right, *_) = tensors(case.form(*map(wide, inputs)))
    errors = list[float]()
    for numerics in "relaxed", "strict":
        attributes = f'builtin.module attributes {{tlf.numerics = "{numerics}"}} {{'
        assert text.count(MODULE) == 1
        found = compiled_results(text.replace(MODULE, attributes), given, "h200")
        distance = found[0].astype(np.float64) - right.numpy()
        errors.append(float(np.linalg.norm(distance)))

    assert errors[0] <= errors[1]
