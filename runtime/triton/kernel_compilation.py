"""Compilation of kernels for the current GPU, and their resources."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import torch

from tlf.runtime.triton.descriptor_check import find_wrong_products
from tlf.runtime.triton.kernel_admission import Facts, Variant
from tlf.runtime.triton.ptxas_selection import OPTIONS, use_assembler

SPILL_UNIT = 4
"""Bytes per spill in Triton's count."""


def compile_variant(
    variant: Variant, function: Any, arguments: Sequence[torch.Tensor | int]
) -> Any:
    """Compile the Triton function of a kernel for some arguments, without a launch."""
    kernel = variant.kernel
    settings: dict[str, object] = {
        "grid": kernel.grid,
        "num_warps": kernel.num_warps,
        "num_stages": kernel.num_stages,
        **(OPTIONS if variant.is_newest else {}),
    }
    with use_assembler(variant.is_newest):
        return function.warmup(*arguments, **settings)


def read_facts(compiled: Any, limit: int) -> Facts:
    """
    Return the facts of a kernel compiled by Triton; only shared memory for a kernel
    with more than `limit` bytes of it, which cannot be loaded.
    """
    shared = int(compiled.metadata.shared)
    if shared > limit:
        return Facts(shared, 0)
    descriptor_faults = find_wrong_products(compiled)
    # Spills are known only after loading; a wrong kernel need not be loaded.
    if descriptor_faults:
        return Facts(shared, 0, descriptor_faults)
    _ = compiled.run
    return Facts(shared, SPILL_UNIT * int(compiled.n_spills))


def shared_limit() -> int:
    """
    Return the bytes of shared memory available to a program on the current device.
    """
    driver: Any = import_module("triton.runtime").driver.active
    properties = driver.utils.get_device_properties(driver.get_current_device())
    return int(properties["max_shared_mem"])
