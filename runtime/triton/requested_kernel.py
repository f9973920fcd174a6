"""
Compilation of Triton kernels: compilation of a requested kernel without a GPU, and its
key in Triton's cache.

A kernel that is launched with the arguments of the request, and specialized by Triton
for them, has the same key.
"""

from __future__ import annotations

from hashlib import sha256
from importlib import import_module
from typing import Any

from tlf.runtime.triton.dtypes import DESCRIPTOR
from tlf.runtime.triton.kernel_request import KernelRequest
from tlf.runtime.triton.launch_plan import Kernel
from tlf.runtime.triton.ptxas_selection import OPTIONS

ALIGNMENT = 16
"""Alignment in bytes for which Triton specializes kernels."""

_MAX_NAME = 150
"""Characters of a kernel's name in the names of Triton's files."""


def compile_requested_kernel(request: KernelRequest, function: Any) -> Any:
    """Compile the Triton function of a requested kernel, through Triton's cache."""
    return import_module("triton").compile(
        _make_source(request, function),
        target=_make_target(request),
        options=_make_options(request),
    )


def compute_kernel_key(request: KernelRequest, function: Any) -> str:
    """Return the key of a requested kernel in Triton's cache, in hexadecimal."""
    compiler: Any = import_module("triton.compiler.compiler")
    backend = compiler.make_backend(_make_target(request))
    key: str = compiler.get_cache_key(
        _make_source(request, function),
        backend,
        backend.parse_options(_make_options(request)),
        compiler.get_cache_invalidating_env_vars(),
    )
    return sha256(key.encode()).hexdigest()


def is_kernel_stored(key: str, name: str) -> bool:
    """Return `True` if the compiled kernel of a key is in Triton's cache."""
    store: Any = import_module("triton.runtime.cache").get_cache_manager(key)
    file = f"{name[:_MAX_NAME]}.json"
    return file in (store.get_group(file) or {})


def _make_source(request: KernelRequest, function: Any) -> Any:
    """Return the specialized function, as Triton's compiler takes it."""
    signature = dict(zip(function.arg_names, request.types, strict=True))
    # Launches list all pointers and integers, also those without attributes.
    attributes = {
        (index,): [["tt.divisibility", ALIGNMENT]] if index in request.aligned else []
        for index, type_ in enumerate(request.types)
        if not type_.startswith(DESCRIPTOR)
    }
    compiler: Any = import_module("triton.compiler")
    return compiler.ASTSource(function, signature, {}, attributes)


def _make_target(request: KernelRequest) -> Any:
    gpu, targets = request.gpu, import_module("triton.backends.compiler")
    return targets.GPUTarget(gpu.backend, gpu.arch, gpu.warp_size)


def launch_options(kernel: Kernel) -> dict[str, object]:
    """Return Triton's options for the launch of a kernel."""
    options: dict[str, object] = {
        "num_warps": kernel.num_warps,
        "num_stages": kernel.num_stages,
    }
    return {**options, "launch_pdl": True} if kernel.is_dependent else options


def _make_options(request: KernelRequest) -> dict[str, object]:
    """Return the options of a launch, with those that Triton's launches add."""
    knobs: Any = import_module("triton").knobs
    kernel = request.variant.kernel
    return {
        **launch_options(kernel),
        "debug": knobs.runtime.debug,
        "instrumentation_mode": knobs.compilation.instrumentation_mode,
        **(OPTIONS if request.variant.is_newest else {}),
    }
