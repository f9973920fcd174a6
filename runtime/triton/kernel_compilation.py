"""Launch of Triton kernels: compilation for the current GPU, and kernel resources."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from threading import Lock
from typing import TYPE_CHECKING, Any

from tlf.runtime.triton.descriptor_check import find_descriptor_faults_of_kernel
from tlf.runtime.triton.kernel_admission import KernelFacts, KernelVariant
from tlf.runtime.triton.kernel_cache import compile_through_cache
from tlf.runtime.triton.kernel_prefetch import compile_in_worker
from tlf.runtime.triton.ptxas_selection import OPTIONS, use_assembler
from tlf.runtime.triton.requested_kernel import launch_options
from tlf.runtime.triton.tensor_descriptors import describe_addresses

if TYPE_CHECKING:
    import torch

SPILL_UNIT = 4
"""Bytes per spill in Triton's count."""

_LOADING = Lock()


def compile_kernel_variant(
    variant: KernelVariant, function: Any, arguments: Sequence[torch.Tensor | int]
) -> Any:
    """
    Compile the Triton function of a kernel for some arguments, without a launch: in a
    worker process if there are any, so that Triton finds it in its cache.
    """
    kernel = variant.kernel
    settings: dict[str, object] = {
        "grid": kernel.grid,
        **launch_options(kernel),
        **(OPTIONS if variant.is_newest else {}),
    }

    def compile_kernel() -> Any:
        compile_in_worker(variant, arguments)
        descriptors = describe_addresses(kernel, [*map(_value_of, arguments)])
        return function.warmup(*arguments, *descriptors, **settings)

    with use_assembler(variant.is_newest):
        return compile_through_cache(compile_kernel)


def _value_of(argument: torch.Tensor | int) -> int:
    """Return the value that a launch passes for an argument."""
    return argument if isinstance(argument, int) else argument.data_ptr()


def load_compiled_kernel(compiled: Any) -> Any:
    """
    Load a compiled kernel and its launcher onto the current device, one at a time.

    Triton 3.6 imports all launchers as one module, `__triton_launcher`: of two threads
    that load kernels with different numbers of parameters, one may get the launcher of
    the other.
    """
    with _LOADING:
        # Triton compiles the launcher, which is cached like kernels.
        compile_through_cache(lambda: compiled.run)
    return compiled


def read_kernel_facts(compiled: Any, shared_memory_bytes: int) -> KernelFacts:
    """
    Return the facts of a kernel compiled by Triton; only shared memory for a kernel
    with more than `shared_memory_bytes` bytes of it, which cannot be loaded.
    """
    shared = int(compiled.metadata.shared)
    if shared > shared_memory_bytes:
        return KernelFacts(shared, 0)
    descriptor_faults = find_descriptor_faults_of_kernel(compiled)
    # Spills are known only after loading; a wrong kernel need not be loaded.
    if descriptor_faults:
        return KernelFacts(shared, 0, descriptor_faults)
    load_compiled_kernel(compiled)
    return KernelFacts(shared, SPILL_UNIT * int(compiled.n_spills))


def shared_memory_limit() -> int:
    """
    Return the bytes of shared memory available to a program on the current device.
    """
    driver: Any = import_module("triton.runtime").driver.active
    properties = driver.utils.get_device_properties(driver.get_current_device())
    return int(properties["max_shared_mem"])
