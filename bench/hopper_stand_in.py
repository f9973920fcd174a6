"""Stand-in for a Hopper GPU, for which kernels can be compiled, but not launched."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast

from tlf.runtime.triton.kernel_admission import KernelVariant
from tlf.runtime.triton.kernel_compilation import compile_kernel_variant
from tlf.runtime.triton.kernel_files import import_kernel_function
from tlf.runtime.triton.kernel_request import GpuArchitecture

HOPPER = GpuArchitecture("cuda", 90)


class HopperDriver:
    """Driver of Triton without a device."""

    def get_current_target(self) -> Any:
        targets = import_module("triton.backends.compiler")
        return targets.GPUTarget(HOPPER.backend, HOPPER.arch, HOPPER.warp_size)

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int) -> int:
        return 0


@dataclass(frozen=True)
class BufferStandIn:
    """Buffer at an address, by which Triton specializes kernels."""

    dtype: str
    """Type of the elements as torch writes it, such as `torch.float32`."""
    address: int = 0

    def data_ptr(self) -> int:
        return self.address


def install_driver() -> list[bool]:
    """
    Install the driver, and return a list that gets, for each kernel that this process
    compiles later, whether it was in Triton's cache.
    """
    triton = import_module("triton")
    triton.runtime.driver.set_active(HopperDriver())
    found: list[bool] = []

    def listen(cache_hit: bool, **facts: object) -> None:
        found.append(cache_hit)

    triton.knobs.compilation.listener = listen
    return found


def compile_as_launched(variant: KernelVariant, *buffers: BufferStandIn | int) -> Any:
    """Compile a kernel as before a launch on buffers, and return it."""
    function = import_kernel_function(variant.kernel)
    return compile_kernel_variant(variant, function, cast(Any, buffers))
