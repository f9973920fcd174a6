"""Availability check for a GPU."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any


def lacks_gpu(script: str) -> bool:
    """Return `True`, after an error message, if PyTorch finds no GPU for the script."""
    torch: Any = import_module("torch")
    if torch.cuda.is_available():
        return False
    text = "expected a GPU that PyTorch can use, found none"
    print(f"{Path(script).name}: error: {text}", file=sys.stderr)
    return True
