"""Launch of Triton kernels in Triton's interpreter, on the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from tlf.runtime.triton.kernel_files import import_kernel_function
from tlf.runtime.triton.launch_plan import Kernel
from tlf.runtime.triton.runtime_errors import make_kernel_error
from tlf.runtime.triton.tensor_descriptors import describe_arguments


class InterpretedKernel:
    """A kernel that Triton's interpreter runs."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._function: Any = import_kernel_function(kernel)

    def __call__(self, arguments: Sequence[torch.Tensor | int]) -> None:
        """
        Run all programs of the grid on the CPU. Raises `KernelError`, also for faults
        that sanitizers find.
        """
        kernel = self._kernel
        try:
            # The interpreter computes with numpy, whose floating-point warnings do not
            # apply.
            with np.errstate(all="ignore"):
                self._function[kernel.grid](
                    *arguments,
                    *describe_arguments(kernel, arguments),
                    num_warps=kernel.num_warps,
                    num_stages=kernel.num_stages,
                )
        except Exception as error:
            raise make_kernel_error(kernel.name, error) from error
