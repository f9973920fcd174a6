"""Report of errors of results."""

import math

import pytest
import torch
import torch_errors
from torch_errors import relative_error, tensors_of


def test_results_of_every_form():
    one, two = torch.ones(2), torch.zeros(3)
    assert list(tensors_of(one)) == [one]
    found = tensors_of({"first": (one, [two]), "second": one})
    assert [id(each) for each in found] == [id(one), id(two), id(one)]


def test_the_greatest_error():
    exact = {"a": torch.tensor([3.0, 4.0]).double(), "b": [torch.tensor(2.0).double()]}
    found = (torch.tensor([3.0, 5.0]), torch.tensor(2.5))
    assert relative_error(found, exact) == pytest.approx(0.25)
    assert relative_error(exact, exact) == 0
    with pytest.raises(ValueError, match="longer"):
        relative_error(found[:1], exact)


def test_errors_of_parts_are_those_of_the_whole(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch_errors, "PART", 3)
    exact, found = [float(at) for at in range(1, 11)], [1.5 * at for at in range(10)]
    whole = math.dist(found, exact) / math.hypot(*exact)
    assert relative_error(torch.tensor(found), torch.tensor(exact)) == pytest.approx(
        whole
    )


def test_errors_of_zeros_are_absolute():
    assert relative_error(torch.tensor([0.0, 0.5]), torch.zeros(2).double()) == 0.5
    assert relative_error(torch.zeros(2), torch.zeros(2).double()) == 0
