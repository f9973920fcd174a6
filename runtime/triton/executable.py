"""
A plan made ready to run: kernels imported, constants and temporaries on the device.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import cast

import numpy as np
import torch

from tlf.runtime.triton import tensors
from tlf.runtime.triton.errors import GuardError, KernelError, TritonRuntimeError
from tlf.runtime.triton.kernel_files import kernel_function
from tlf.runtime.triton.plan import Kernel, Launch, Loop, Plan
from tlf.runtime.triton.tensors import Array

Inputs = Mapping[str, Array] | Sequence[Array]
"""The arguments by name, or in order."""


class Executable:
    """
    A plan on one device. Calls share the temporaries, so they must not overlap.
    """

    def __init__(self, plan: Plan, device: str) -> None:
        self.plan = plan
        self.device = device
        self._kernels = {kernel.name: kernel for kernel in plan.kernels}
        self._functions = {k.name: kernel_function(k) for k in plan.kernels}
        self._static = {
            buffer.name: tensors.constant(buffer, device)
            if buffer.kind == "constant"
            else tensors.allocate(buffer, device)
            for buffer in plan.buffers
            if buffer.kind in ("constant", "temporary")
        }

    def __call__(
        self, inputs: Inputs, as_tensors: bool | None = None
    ) -> dict[str, Array]:
        """
        Run the plan. Results are fresh torch tensors or numpy arrays; if `as_tensors`
        does not say, torch tensors if all inputs are. Raises `GuardError` and
        `KernelError`.
        """
        values = self._named(inputs)
        bound = dict(self._static)
        for name in self.plan.arguments:
            buffer = self.plan.buffer(name)
            bound[name] = tensors.argument(buffer, values[name], self.device)
        for name in self.plan.results:
            bound[name] = tensors.allocate(self.plan.buffer(name), self.device)
        self._run(self.plan.steps, bound, {})
        results = {name: bound[name] for name in self.plan.results}
        if as_tensors is None:
            given = [isinstance(each, torch.Tensor) for each in values.values()]
            as_tensors = bool(given) and all(given)
        if as_tensors:
            return cast(dict[str, Array], results)
        return {
            name: tensors.to_numpy(tensor, self.plan.buffer(name).dtype)
            for name, tensor in results.items()
        }

    def _named(self, inputs: Inputs) -> Mapping[str, Array]:
        expected = self.plan.arguments
        if not isinstance(inputs, Mapping):
            if len(inputs) != len(expected):
                raise GuardError(
                    f"expected {len(expected)} arguments, got {len(inputs)}"
                )
            return dict(zip(expected, inputs, strict=True))
        if set(inputs) != set(expected):
            raise GuardError(
                f"expected arguments {sorted(expected)}, got {sorted(inputs)}"
            )
        return inputs

    def _run(
        self,
        steps: Sequence[Launch | Loop],
        buffers: Mapping[str, torch.Tensor],
        indices: Mapping[str, int],
    ) -> None:
        for step in steps:
            if isinstance(step, Loop):
                for index in range(step.lower, step.upper, step.step):
                    self._run(step.steps, buffers, {**indices, step.index: index})
                continue
            arguments = [
                buffers[name] if kind == "buffer" else indices[name]
                for kind, name in step.arguments
            ]
            self._launch(self._kernels[step.kernel], arguments)

    def _launch(self, kernel: Kernel, arguments: list[torch.Tensor | int]) -> None:
        function = import_module("operator").getitem(
            self._functions[kernel.name], kernel.grid
        )
        options = {"num_warps": kernel.num_warps, "num_stages": kernel.num_stages}
        try:
            # The interpreter computes with numpy, which warns where a GPU does not.
            with np.errstate(all="ignore"):
                function(*arguments, **options)
        except TritonRuntimeError:
            raise
        except Exception as error:
            cause = error.__cause__ or error
            if isinstance(cause, KernelError):
                raise KernelError(f"kernel '{kernel.name}': {cause}") from error
            raise KernelError(
                f"kernel '{kernel.name}': {type(cause).__name__}: {cause}"
            ) from error
