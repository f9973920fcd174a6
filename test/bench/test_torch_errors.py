"""How errors of results are told."""

import pytest
import torch
from torch_errors import error, tensors


def test_results_of_every_form():
    one, two = torch.ones(2), torch.zeros(3)
    assert list(tensors(one)) == [one]
    found = tensors({"first": (one, [two]), "second": one})
    assert [id(each) for each in found] == [id(one), id(two), id(one)]


def test_the_greatest_error():
    exact = {"a": torch.tensor([3.0, 4.0]).double(), "b": [torch.tensor(2.0).double()]}
    found = (torch.tensor([3.0, 5.0]), torch.tensor(2.5))
    assert error(found, exact) == pytest.approx(0.25)
    assert error(exact, exact) == 0
    with pytest.raises(ValueError, match="longer"):
        error(found[:1], exact)
