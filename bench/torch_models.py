"""Networks of PyTorch that tests and benchmarks compile."""

from __future__ import annotations

from torch_models_attention import ATTENTION
from torch_models_dense import DENSE
from torch_models_language import LANGUAGE
from torch_models_vision import VISION

MODELS = [*ATTENTION, *LANGUAGE, *VISION, *DENSE]
