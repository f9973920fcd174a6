"""Relaxed numerics: fewer roundings give no larger errors, and networks compile."""

import numpy as np
import pytest

pytest.importorskip("torch")

import cascades
from cascade_cases import CASES, CascadeSizes, T
from cascade_form_runs import named, wide
from differential import compiled_results
from torch_check import relative_error, tensors
from torch_model import Model, cast_all
from torch_models import MODELS
from xdsl.dialects.builtin import StringAttr

from tlf.compiler.api.torch_module import CompiledModule
from tlf.dialects.numerics_attribute import NUMERICS_ATTRIBUTE
from tlf.frontend.torch.export import from_torch

SIZES = CascadeSizes(b=1, h=2, s=40, d=8, rows=12, k=24, n=40)
MODULE = "builtin.module {"
NETWORKS = sorted(MODELS, key=lambda model: model.name != "mixer block")
"""All, first one that takes little time."""


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", ["soft_capped", "alibi", "differential", "gate"])
def test_errors(name: str):
    """In multiples of those of strict numerics, against f64."""
    case = CASES[name]
    inputs = case.inputs(SIZES, T.bfloat16, seed=1)
    text, given = str(cascades.import_case(case, inputs)), named(case, inputs)
    (right, *_) = tensors(case.form(*map(wide, inputs)))
    errors = list[float]()
    for numerics in "relaxed", "strict":
        attributes = f'builtin.module attributes {{tlf.numerics = "{numerics}"}} {{'
        assert text.count(MODULE) == 1
        found = compiled_results(text.replace(MODULE, attributes), given, "h200")
        distance = found[0].astype(np.float64) - right.numpy()
        errors.append(float(np.linalg.norm(distance)))

    assert errors[0] <= errors[1]


@pytest.mark.one_in(len(MODELS))
@pytest.mark.parametrize("model", NETWORKS, ids=lambda model: model.name)
def test_networks(model: Model):
    """Against f32, with errors as networks of bf16 have them."""
    network, inputs = model.build("tiny")
    narrow = network.bfloat16(), cast_all(inputs, T.bfloat16)
    imported = from_torch(*narrow)
    imported.module.attributes[NUMERICS_ATTRIBUTE] = StringAttr("relaxed")
    with T.no_grad():
        found, theirs = (
            CompiledModule(imported, "h200")(*narrow[1]),
            narrow[0](*narrow[1]),
        )
        wanted = network.float()(*cast_all(narrow[1], T.float32))

    assert relative_error(found, wanted) <= 2 * relative_error(theirs, wanted) + 1e-2
