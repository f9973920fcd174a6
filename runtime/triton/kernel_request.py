"""Compilation of Triton kernels: request to a worker process, and its answer."""

from __future__ import annotations

from dataclasses import dataclass

from tlf.runtime.triton.kernel_admission import KernelVariant


@dataclass(frozen=True)
class GpuArchitecture:
    """GPU that a kernel is compiled for; the fields are those of Triton's target."""

    backend: str
    arch: int
    """Compute capability times ten, such as 90 for a Hopper GPU."""
    warp_size: int = 32


@dataclass(frozen=True)
class KernelRequest:
    """
    Request to compile a kernel whose parameters are specialized only by the alignment
    of pointers. The GPU need not be present.
    """

    variant: KernelVariant
    types: tuple[str, ...]
    """Types of the parameters in the syntax of Triton, such as `*fp32`."""
    aligned: tuple[int, ...]
    """Indices of the pointers that are aligned to 16 bytes."""
    gpu: GpuArchitecture
    folder: str = ""
    """Folder of Triton's cache; if empty, the worker's setting."""
    key: str = ""
    """Expected key of the kernel in Triton's cache; if empty, any."""
    assembles: bool = False
    """True for an answer with the fields that follow from the assembly."""


@dataclass(frozen=True)
class KernelAnswer:
    """Answer to a request: facts of the compiled kernel, or an error."""

    error: str = ""
    """Type and message of an exception; empty if the kernel was compiled."""
    shared: int = 0
    """Bytes of shared memory per program."""
    warps: int = 0
    ptx: str = ""
    log: str = ""
    """Output of `ptxas -v`."""
    wrong_descriptors: tuple[str, ...] = ()
