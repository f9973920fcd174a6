"""Public names of the package, and former paths."""

import pytest

import tlf
from tlf.compiler.api import torch_backend, torch_report
from tlf.tools import torch_backend as former


def test_names_of_the_package() -> None:
    assert tlf.backend is torch_backend.tlf
    assert tlf.REPORT is torch_report.REPORT
    assert all(hasattr(tlf, name) for name in tlf.__all__)
    with pytest.raises(AttributeError, match="no attribute 'other'"):
        getattr(tlf, "other")


def test_former_paths() -> None:
    assert (former.tlf, former.REPORT) == (tlf.backend, tlf.REPORT)
