"""Launch of Triton kernels: executable plan, with constants and temporaries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import cast

import torch

from tlf.runtime.triton import device_tensors
from tlf.runtime.triton.device_tensors import Array
from tlf.runtime.triton.kernel_admission import KernelFacts
from tlf.runtime.triton.kernel_cache import limit_kernel_cache
from tlf.runtime.triton.kernel_launcher import KernelLauncher
from tlf.runtime.triton.kernel_prefetch import prefetch_plan_kernels
from tlf.runtime.triton.launch_plan import (
    HostLoop,
    Launch,
    Plan,
    find_buffer_launches,
)
from tlf.runtime.triton.parallel_compilation import compile_in_threads
from tlf.runtime.triton.runtime_errors import GuardError

Inputs = Mapping[str, Array] | Sequence[Array]
"""Arguments by name, or in order."""


class Executable:
    """
    A plan that runs on the device of its input tensors, or else on a default device.
    Calls on one device share temporaries, so they must not overlap.
    """

    def __init__(self, plan: Plan, device: str) -> None:
        self.plan = plan
        self.device = torch.empty(0, device=device).device
        self._buffers = {buffer.name: buffer for buffer in plan.buffers}
        self._arguments = [self._buffers[name] for name in plan.arguments]
        self._results = [self._buffers[name] for name in plan.results]
        is_interpreted = self.device.type != "cuda"
        self._launchers = {
            kernel.name: KernelLauncher(kernel, is_interpreted)
            for kernel in plan.kernels
        }
        self._static = {
            self.device: self._allocate_constants_and_temporaries(self.device)
        }
        self._compiled = set[torch.device]()
        """Devices for which kernels are compiled."""
        if not is_interpreted:
            with _launch_context_of_device(self.device):
                prefetch_plan_kernels(plan)

    @property
    def facts(self) -> Mapping[str, KernelFacts]:
        """Resources of the kernels that were launched on a GPU, by name."""
        by_name = {name: each.facts for name, each in self._launchers.items()}
        return {name: facts for name, facts in by_name.items() if facts is not None}

    def device_of_arguments(self, values: Iterable[Array]) -> torch.device:
        """
        Return the device of a run on the given arguments. Raises `GuardError` for
        tensors on several devices.
        """
        devices = [each.device for each in values if isinstance(each, torch.Tensor)]
        return device_tensors.common_device(devices, self.device)

    def _allocate_constants_and_temporaries(
        self, device: torch.device
    ) -> Mapping[str, torch.Tensor]:
        """Return the constants and temporaries, which all calls on a device share."""
        constants = {
            buffer.name: device_tensors.upload_constant(buffer, device)
            for buffer in self.plan.buffers
            if buffer.kind == "constant"
        }
        return {**constants, **device_tensors.allocate_temporaries(self.plan, device)}

    def __call__(
        self,
        inputs: Inputs,
        as_tensors: bool | None = None,
        device: torch.device | None = None,
        observe_fraction: Callable[[float], object] | None = None,
    ) -> dict[str, Array]:
        """
        Run the plan on `device`, by default the one from `device_for`. Results are new
        torch tensors or numpy arrays; if `as_tensors` is `None`, they are torch tensors
        if all inputs are. `observe_fraction` is called with the fraction of the plan
        that is done. Raises `GuardError` and `KernelError`.
        """
        values = self._order_inputs_by_plan(inputs)
        device = self.device_of_arguments(values) if device is None else device
        if device not in self._static:
            self._static[device] = self._allocate_constants_and_temporaries(device)
        buffers = dict(self._static[device])
        for buffer, value in zip(self._arguments, values, strict=True):
            buffers[buffer.name] = device_tensors.upload_argument(buffer, value, device)
        for buffer in self._results:
            buffers[buffer.name] = device_tensors.allocate_device_buffer(buffer, device)
        with _launch_context_of_device(device):
            if device not in self._compiled:
                self._compile_kernels_in_parallel(buffers, device)
            if observe_fraction is None:
                self._run_plan_steps(self.plan.steps, buffers, {})
            else:
                self._run_observed_steps(buffers, observe_fraction)
        results = {name: buffers[name] for name in self.plan.results}
        if as_tensors is None:
            are_tensors = [isinstance(each, torch.Tensor) for each in values]
            as_tensors = bool(are_tensors) and all(are_tensors)
        if as_tensors:
            return cast(dict[str, Array], results)
        return {
            name: device_tensors.to_numpy(tensor, self._buffers[name].dtype)
            for name, tensor in results.items()
        }

    def _order_inputs_by_plan(self, inputs: Inputs) -> Sequence[Array]:
        """
        Return positional or named inputs in the plan's order; raises `GuardError` on a
        mismatch.
        """
        expected = self.plan.arguments
        if isinstance(inputs, Mapping):
            if set(inputs) != set(expected):
                raise GuardError(
                    f"expected arguments {sorted(expected)}, got {sorted(inputs)}"
                )
            return [inputs[name] for name in expected]
        if len(inputs) != len(expected):
            raise GuardError(f"expected {len(expected)} arguments, got {len(inputs)}")
        return inputs

    def _compile_kernels_in_parallel(
        self, buffers: Mapping[str, torch.Tensor], device: torch.device
    ) -> None:
        """
        Compile for a CUDA device, in threads, each kernel launched with only buffers;
        nothing on others. The threads wait for worker processes, if there are any.
        """
        self._compiled.add(device)
        if device.type != "cuda":
            return

        def compile_one(launch: Launch) -> None:
            arguments = [buffers[name] for _, name in launch.arguments]
            with torch.cuda.device(device):
                self._launchers[launch.kernel].compile_before_launch(arguments)

        compile_in_threads(compile_one, find_buffer_launches(self.plan))
        limit_kernel_cache()

    def _run_observed_steps(
        self,
        buffers: Mapping[str, torch.Tensor],
        observe_fraction: Callable[[float], object],
    ) -> None:
        """Launch the kernels of the plan, and observe the fraction that is done."""
        for number, step in enumerate(self.plan.steps):
            observe_fraction(number / len(self.plan.steps))
            self._run_plan_steps([step], buffers, {})

    def _run_plan_steps(
        self,
        steps: Sequence[Launch | HostLoop],
        buffers: Mapping[str, torch.Tensor],
        indices: Mapping[str, int],
    ) -> None:
        """
        Launch the kernels of `steps` in order; `indices` has the host loop indices.
        """
        for step in steps:
            if isinstance(step, HostLoop):
                for index in range(step.lower, step.upper, step.step):
                    self._run_plan_steps(
                        step.steps, buffers, {**indices, step.index: index}
                    )
                continue
            arguments = [
                buffers[name] if kind == "buffer" else indices[name]
                for kind, name in step.arguments
            ]
            self._launchers[step.kernel](arguments)


def _launch_context_of_device(device: torch.device) -> AbstractContextManager[object]:
    """Return a context that launches kernels on a device."""
    if device.type != "cuda" or torch.cuda.current_device() == device.index:
        return nullcontext()
    return torch.cuda.device(device)
