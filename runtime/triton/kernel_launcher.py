"""
Launch of Triton kernels, compiled at their first launch and cached by alignment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

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
from tlf.runtime.triton.runtime_errors import TritonRuntimeError, make_kernel_error
from tlf.runtime.triton.tensor_descriptors import DescribedRun

Run: TypeAlias = Callable[..., object]


class KernelLauncher:
    """
    Launcher of one kernel on GPUs. Triton inspects every argument to look up its
    compiled kernel; kernels are cached here, by what they are specialized for.
    """

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._functions: dict[Kernel, Any] = {}
        self._known: dict[tuple[object, ...], Run] = {}
        self._variant: KernelVariant | None = None
        self.facts: KernelFacts | None = None
        """Facts of the kernel as last compiled."""

    def bind(self, arguments: Sequence[torch.Tensor | int]) -> Run:
        """
        Return the compiled kernel for arguments on the current device. It is called
        with equal integers, and with addresses of the same alignment, on a stream.
        Raises `KernelError`.
        """
        key = _specialization_of(arguments)
        if (known := self._known.get(key)) is not None:
            return known
        try:
            run = self._known[key] = self._compile_admitted_variant(arguments)
        except Exception as error:
            raise make_kernel_error(self._kernel.name, error) from error
        return run

    def compile_before_launch(self, buffers: Sequence[torch.Tensor]) -> None:
        """
        Compile the kernel for a launch on the given buffers, on the current device.
        Errors are ignored; the launch reports them.
        """
        with suppress(TritonRuntimeError):
            self.bind(buffers)

    def _load_kernel_function(self, kernel: Kernel) -> Any:
        """Return the Triton function of a kernel, whose file is read once."""
        if kernel not in self._functions:
            self._functions[kernel] = import_kernel_function(kernel)
        return self._functions[kernel]

    def _compile_admitted_variant(self, arguments: Sequence[torch.Tensor | int]) -> Run:
        """
        Compile the kernel for the given arguments, in the first admitted variant; for
        other integers in the variant admitted earlier.
        """
        ones = (1,) * (3 - len(self._kernel.grid))
        grid = (*self._kernel.grid, *ones)
        if self._variant is not None and any(isinstance(e, int) for e in arguments):
            function = self._load_kernel_function(self._variant.kernel)
            compiled = compile_kernel_variant(self._variant, function, arguments)
            return self._run_of_compiled(load_compiled_kernel(compiled)[grid])
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
        return self._run_of_compiled(compiled[self._variant][grid])

    def _run_of_compiled(self, run: Run) -> Run:
        """Return the compiled kernel for a grid, which takes arguments only."""
        return DescribedRun(self._kernel, run) if self._kernel.descriptors else run


def _specialization_of(arguments: Sequence[torch.Tensor | int]) -> tuple[object, ...]:
    """
    Return what a kernel is compiled and loaded for: the device of buffers, whether each
    is aligned, and properties of integers, of which Triton makes constants and types.
    """
    devices = {each.device for each in arguments if isinstance(each, torch.Tensor)}
    return *devices, *map(_specialization_of_argument, arguments)


def _specialization_of_argument(argument: torch.Tensor | int) -> object:
    if isinstance(argument, torch.Tensor):
        return argument.data_ptr() % ALIGNMENT == 0
    return argument == 1, argument % ALIGNMENT == 0, argument.bit_length() // 32
