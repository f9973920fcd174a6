"""Launch of Triton kernels: plan that runs in Triton's interpreter, on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import RLock

import torch

from tlf.runtime.triton.device_tensors import (
    allocate_temporaries,
    view_temporaries_in_results,
)
from tlf.runtime.triton.interpreted_kernel import InterpretedKernel
from tlf.runtime.triton.launch_plan import HostLoop, Launch, Plan

_RUNNING = RLock()
"""Held while a plan runs: the interpreter replaces functions of Triton meanwhile."""


class InterpretedPlan:
    """
    Plan on a device without kernels. Calls share temporaries, and run one at a time.
    """

    def __init__(
        self, plan: Plan, constants: Mapping[str, torch.Tensor], device: torch.device
    ) -> None:
        self._plan = plan
        self._kernels = {each.name: InterpretedKernel(each) for each in plan.kernels}
        self._fixed = {**constants, **allocate_temporaries(plan, device)}

    def run(
        self,
        buffers: Mapping[str, torch.Tensor],
        observe_fraction: Callable[[float], object] | None = None,
    ) -> None:
        """
        Run all launches on arguments and results by name; `observe_fraction` is called
        with the fraction of the plan that is done. Raises `KernelError`.
        """
        shared = view_temporaries_in_results(self._plan, buffers)
        known = {**self._fixed, **buffers, **shared}
        with _RUNNING:
            for number, step in enumerate(self._plan.steps):
                if observe_fraction is not None:
                    observe_fraction(number / len(self._plan.steps))
                self._run_steps([step], known, {})

    def _run_steps(
        self,
        steps: Sequence[Launch | HostLoop],
        buffers: Mapping[str, torch.Tensor],
        indices: Mapping[str, int],
    ) -> None:
        """
        Run the kernels of `steps` in order; `indices` has the host loop indices.
        """
        for step in steps:
            if isinstance(step, HostLoop):
                for index in range(step.lower, step.upper, step.step):
                    self._run_steps(step.steps, buffers, {**indices, step.index: index})
                continue
            arguments = [
                buffers[name] if kind == "buffer" else indices[name]
                for kind, name in step.arguments
            ]
            self._kernels[step.kernel](arguments)
