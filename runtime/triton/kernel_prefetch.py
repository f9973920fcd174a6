"""
Compilation of Triton kernels: compilation by worker processes, into Triton's cache,
from which this process loads the kernels.

Failures of workers are not raised: a kernel that workers do not compile is compiled by
this process, which reports its errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tlf.runtime.triton import dtypes
from tlf.runtime.triton.device_selection import choose_interpreter_mode
from tlf.runtime.triton.kernel_admission import KernelVariant
from tlf.runtime.triton.kernel_cache import compile_through_cache, read_triton_folder
from tlf.runtime.triton.kernel_files import import_kernel_function
from tlf.runtime.triton.kernel_request import GpuArchitecture, KernelRequest
from tlf.runtime.triton.launch_plan import Plan, find_buffer_launches
from tlf.runtime.triton.requested_kernel import (
    ALIGNMENT,
    compute_kernel_key,
    is_kernel_stored,
)
from tlf.runtime.triton.runtime_errors import UnavailableError
from tlf.runtime.triton.tensor_descriptors import triton_descriptor_types
from tlf.runtime.triton.worker_pool import POOL, Answer
from tlf.runtime.triton.worker_process import WorkerError
from tlf.runtime.triton.worker_settings import LOG, count_workers

if TYPE_CHECKING:
    import torch


def start_workers_for_gpu() -> None:
    """Start the workers, which takes them a second, if kernels will run on a GPU."""
    with suppress(UnavailableError):
        if count_workers() and not choose_interpreter_mode():
            POOL.start()


def prefetch_plan_kernels(plan: Plan) -> None:
    """
    Have workers compile the kernels of a plan for aligned buffers on the current GPU,
    without waiting for them. Kernels in Triton's cache need no worker.
    """
    if not count_workers():
        return
    kernels = {kernel.name: kernel for kernel in plan.kernels}
    buffers = {buffer.name: buffer for buffer in plan.buffers}
    for launch in find_buffer_launches(plan):
        variant = KernelVariant(kernels[launch.kernel])
        types = tuple(
            dtypes.triton_pointer_type(buffers[name].dtype)
            for _, name in launch.arguments
        )
        aligned = tuple(range(len(types)))
        types += triton_descriptor_types(variant.kernel)
        compile_through_cache(partial(_submit_request, variant, types, aligned))


def compile_in_worker(
    variant: KernelVariant, arguments: Sequence[torch.Tensor | int]
) -> None:
    """
    Have a worker compile a kernel for a launch on the current GPU, and wait for it;
    nothing for a kernel that is in Triton's cache, or launched with integers. Raises
    `CancelledError` if the workers are stopped.
    """
    buffers = [each for each in arguments if not isinstance(each, int)]
    if not count_workers() or len(buffers) != len(arguments):
        return
    mangle_type: Any = import_module("triton.runtime.jit").mangle_type
    types = tuple(str(mangle_type(each)) for each in buffers)
    is_aligned = [each.data_ptr() % ALIGNMENT == 0 for each in buffers]
    aligned = tuple(index for index, holds in enumerate(is_aligned) if holds)
    types += triton_descriptor_types(variant.kernel)
    if (answer := _submit_request(variant, types, aligned)) is None:
        return
    with suppress(WorkerError):  # The pool has reported it.
        if error := answer.result().error:
            name = variant.kernel.name
            LOG.info("kernel '%s' fails in a worker process: %s", name, error)


def _submit_request(
    variant: KernelVariant, types: tuple[str, ...], aligned: tuple[int, ...]
) -> Answer | None:
    """
    Submit a request for the current GPU and the current folder of Triton's cache;
    `None` if the kernel is there, with its launcher, or the request cannot be made.
    """
    kernel = variant.kernel
    try:
        if (gpu := _current_gpu()).backend != "cuda":
            return None
        function = import_kernel_function(kernel)
        request = KernelRequest(variant, types, aligned, gpu, read_triton_folder())
        request = replace(request, key=compute_kernel_key(request, function))
        is_stored = is_kernel_stored(request.key, kernel.name)
    except Exception as error:
        LOG.info("kernel '%s' is left to this process: %s", kernel.name, error)
        return None
    # A worker that stored a kernel may still build its launcher.
    return POOL.find_answer(request) if is_stored else POOL.submit(request)


def _current_gpu() -> GpuArchitecture:
    """Return the GPU that Triton compiles for at a launch."""
    target: Any = import_module("triton.runtime").driver.active.get_current_target()
    return GpuArchitecture(target.backend, target.arch, target.warp_size)
