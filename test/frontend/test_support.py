"""The page that lists the operations of core ATen."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tlf.frontend.torch.aten_support import (
    core_operations,
    format_converted_operations,
    format_support_page,
    import_kind_of,
)

PAGE = Path(__file__).parents[2] / "docs" / "aten.md"
CONVERTED = Path(__file__).parent / "converted.txt"


def test_page_is_up_to_date():
    text = PAGE.read_text(encoding="utf-8")
    if f"as PyTorch {torch.__version__[:4]} lists" not in text:
        pytest.skip("the page is of another version of PyTorch")
    assert text == format_support_page()


def test_most_operations_are_imported():
    supports = [import_kind_of(each) for each in core_operations()]
    assert supports.count("no") < len(supports) / 10


def test_that_converted_operations_stay_converted():
    """The list only grows: what TLF computes once does not fall back to PyTorch."""
    listed = CONVERTED.read_text(encoding="utf-8").split()
    found = format_converted_operations().split()
    assert not set(listed) - set(found)
    assert not set(found) - set(listed), (
        "new ones: python -m tlf.frontend.torch.aten_support --converted > "
        "test/frontend/converted.txt"
    )
