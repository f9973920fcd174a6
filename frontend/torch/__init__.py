"""Import of PyTorch programs into the graph dialect."""

from tlf.frontend.torch.export import ImportedProgram, from_torch
from tlf.frontend.torch.import_errors import ImportFailure, Unsupported

__all__ = ["ImportFailure", "ImportedProgram", "Unsupported", "from_torch"]
