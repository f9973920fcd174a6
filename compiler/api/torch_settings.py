"""API: options of the backend for `torch.compile`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, cast

from xdsl.utils.exceptions import DiagnosticException

from tlf.dialects.numerics_attribute import Numerics
from tlf.dialects.target import TargetSpec, load_target_spec
from tlf.frontend.torch.f32_precision import F32Precision, F32PrecisionOption

REFERENCE = "reference"
"""Target that interprets programs."""


class Fallback(StrEnum):
    """
    Policy for parts of a graph that the compiler fails on: run in PyTorch, or raise.
    """

    EAGER = "eager"
    """PyTorch runs them."""
    STRICT = "strict"
    """Failures are errors, except for operations that TLF does not support."""


class CudaGraphs(StrEnum):
    """Launches of a program as CUDA graphs: where they repeat, or never."""

    AUTO = "auto"
    OFF = "off"


@dataclass(frozen=True)
class Settings:
    """Options of the backend `tlf` of `torch.compile`, with their defaults."""

    target: str | TargetSpec = "triton"
    numerics: Numerics = Numerics.STRICT
    fallback: Fallback = Fallback.EAGER
    check_indices: bool = False
    """
    True to leave operations to PyTorch that it rejects for some indices or divisors.
    """
    reproducers: str | None = None
    """Folder of reproducers; `None` for the default."""
    cudagraphs: CudaGraphs = CudaGraphs.AUTO
    f32_precision: F32Precision = field(default_factory=F32Precision)
    cache: bool = True
    """True to look up compiled programs in the cache, and to store them there."""

    @staticmethod
    def from_options(options: Mapping[str, Any]) -> Settings:
        """
        Return new settings from `options` by name, with defaults for missing ones.
        Raises `ValueError` for an unknown name or an invalid value.
        """
        if unknown := [name for name in options if name not in _READERS]:
            listed = ", ".join(f"`{name}`" for name in _READERS)
            raise ValueError(f"expected the options {listed}, got `{unknown[0]}`")
        return Settings(**{name: _READERS[name](options[name]) for name in options})


def _validate_target(value: Any) -> str | TargetSpec:
    """
    Return the option `target`. Raises `ValueError` for an unknown name or a bad file.
    """
    if not isinstance(value, str | TargetSpec):
        raise ValueError(f"expected the name of a target, got {value}")
    if isinstance(value, TargetSpec) or value == REFERENCE:
        return value
    try:
        load_target_spec(value, [REFERENCE])
    except DiagnosticException as error:
        raise ValueError(str(error)) from error
    return value


def _validate_numerics(value: Any) -> Numerics:
    if value not in list(Numerics):
        raise ValueError(f"expected numerics `strict` or `relaxed`, got {value}")
    return Numerics(value)


def _validate_fallback(value: Any) -> Fallback:
    if value not in list(Fallback):
        raise ValueError(f"expected fallback `eager` or `strict`, got {value}")
    return Fallback(value)


def _validate_check_indices(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"expected check_indices True or False, got {value}")
    return value


def _validate_cudagraphs(value: Any) -> CudaGraphs:
    if value not in list(CudaGraphs):
        raise ValueError(f"expected cudagraphs `auto` or `off`, got {value}")
    return CudaGraphs(value)


def _validate_f32_precision(value: Any) -> F32Precision:
    if value is not None and not isinstance(value, str | Mapping):
        raise ValueError(f"expected f32_precision to be a name or two, got {value}")
    return F32Precision.from_option(cast(F32PrecisionOption, value))


def _validate_cache(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"expected cache True or False, got {value}")
    return value


def _validate_reproducers(value: Any) -> str | None:
    if value is not None and not isinstance(value, str | Path):
        raise ValueError(f"expected reproducers to be a folder, got {value}")
    return None if value is None else str(value)


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "target": _validate_target,
    "numerics": _validate_numerics,
    "fallback": _validate_fallback,
    "check_indices": _validate_check_indices,
    "reproducers": _validate_reproducers,
    "cudagraphs": _validate_cudagraphs,
    "f32_precision": _validate_f32_precision,
    "cache": _validate_cache,
}
