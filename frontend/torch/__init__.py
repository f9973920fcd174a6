"""Programs of PyTorch."""

from tlf.frontend.torch.errors import ImportFailure, Unsupported
from tlf.frontend.torch.export import ImportedProgram, from_torch

__all__ = ["ImportFailure", "ImportedProgram", "Unsupported", "from_torch"]
