"""
Launch of Triton kernels, compiled at their first launch and cached by alignment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeAlias, cast

import numpy as np
import torch

from tlf.runtime.triton.kernel_admission import (
    KernelFacts,
    KernelVariant,
    admit_kernel_variant,
)
from tlf.runtime.triton.kernel_compilation import (
    compile_kernel_variant,
    load_compiled_kernel,
    read_kernel_facts,
    shared_memory_limit,
)
from tlf.runtime.triton.kernel_files import import_kernel_function
from tlf.runtime.triton.launch_plan import Kernel
from tlf.runtime.triton.requested_kernel import ALIGNMENT
from tlf.runtime.triton.runtime_errors import KernelError, TritonRuntimeError

Run: TypeAlias = Callable[..., object]


class KernelLauncher:
    """
    Launcher of one kernel. Triton inspects every argument to look up its compiled
    kernel; launches with only buffers are cached here, by the alignment of each buffer.
    """

    def __init__(self, kernel: Kernel, is_interpreted: bool = False) -> None:
        self._kernel = kernel
        self._is_interpreted = is_interpreted
        self._functions: dict[Kernel, Any] = {}
        if is_interpreted:
            self._load_kernel_function(kernel)
        self._known: dict[tuple[object, ...], Run] = {}
        self._variant: KernelVariant | None = None
        self.facts: KernelFacts | None = None
        """Facts of the kernel as last compiled."""

    def __call__(self, arguments: Sequence[torch.Tensor | int]) -> None:
        """
        Launch the kernel. Raises `KernelError`, also for faults found by the
        interpreter.
        """
        try:
            self._launch_kernel(arguments)
        except TritonRuntimeError:
            raise
        except Exception as error:
            cause = error.__cause__ or error
            is_known = isinstance(cause, KernelError)
            text = f"{cause}" if is_known else f"{type(cause).__name__}: {cause}"
            name = self._kernel.name
            raise KernelError(f"kernel '{name}': {text}") from error

    def _launch_kernel(self, arguments: Sequence[torch.Tensor | int]) -> None:
        """Run the kernel from the cache, in the interpreter, or after compilation."""
        key = _cache_key_by_alignment(arguments)
        if key is not None and (cached := self._known.get(key)) is not None:
            cached(*arguments)
            return
        if self._is_interpreted:
            self._run_in_interpreter(arguments)
            return
        run = self._compile_admitted_variant(arguments, is_known=key is None)
        if key is not None:
            self._known[key] = run
        run(*arguments)

    def compile_before_launch(self, buffers: Sequence[torch.Tensor]) -> None:
        """
        Compile the kernel for a launch on the given buffers, on the current device.
        Errors are ignored; the launch reports them.
        """
        key = _cache_key_by_alignment(buffers)
        if key is not None and key not in self._known:
            with suppress(Exception):
                self._known[key] = self._compile_admitted_variant(
                    buffers, is_known=False
                )

    def _load_kernel_function(self, kernel: Kernel) -> Any:
        """Return the Triton function of a kernel, whose file is read once."""
        if kernel not in self._functions:
            self._functions[kernel] = import_kernel_function(kernel)
        return self._functions[kernel]

    def _run_in_interpreter(self, arguments: Sequence[torch.Tensor | int]) -> None:
        """Run all programs of the grid on the CPU, without numpy's warnings."""
        kernel = self._kernel
        # The interpreter computes with numpy, whose floating-point warnings do not
        # apply.
        with np.errstate(all="ignore"):
            self._load_kernel_function(kernel)[kernel.grid](
                *arguments, num_warps=kernel.num_warps, num_stages=kernel.num_stages
            )

    def _compile_admitted_variant(
        self, arguments: Sequence[torch.Tensor | int], *, is_known: bool
    ) -> Run:
        """
        Compile the kernel for the given arguments, in the first admitted variant; if
        `is_known`, in the variant admitted earlier.
        """
        ones = (1,) * (3 - len(self._kernel.grid))
        grid = (*self._kernel.grid, *ones)
        if self._variant is not None and is_known:
            function = self._load_kernel_function(self._variant.kernel)
            compiled = compile_kernel_variant(self._variant, function, arguments)
            return load_compiled_kernel(compiled)[grid]
        compiled: dict[KernelVariant, Any] = {}
        facts: dict[KernelVariant, KernelFacts] = {}
        limit = shared_memory_limit()

        def compile_one(variant: KernelVariant) -> KernelFacts:
            function = self._load_kernel_function(variant.kernel)
            compiled[variant] = compile_kernel_variant(variant, function, arguments)
            facts[variant] = read_kernel_facts(compiled[variant], limit)
            return facts[variant]

        self._variant = admit_kernel_variant(self._kernel, compile_one, limit)
        self.facts = facts[self._variant]
        return compiled[self._variant][grid]


def _cache_key_by_alignment(
    arguments: Sequence[torch.Tensor | int],
) -> tuple[object, ...] | None:
    """
    Return the device of buffers and the alignment of each; `None` if there are integers
    among the arguments. A compiled kernel is loaded for one device.
    """
    if any(isinstance(each, int) for each in arguments):
        return None
    buffers = cast(Sequence[torch.Tensor], arguments)
    devices = {each.device for each in buffers}
    return (*devices, *(each.data_ptr() % ALIGNMENT == 0 for each in buffers))
