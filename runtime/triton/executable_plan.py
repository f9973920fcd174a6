"""Launch of Triton kernels: executable plan, on GPUs or in the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from importlib import import_module
from threading import RLock

import torch

from tlf.runtime.triton import device_tensors
from tlf.runtime.triton.argument_guard import ArgumentGuard
from tlf.runtime.triton.bound_plan import BoundPlan
from tlf.runtime.triton.dependent_launch import (
    adapt_to_capability,
    least_capability,
)
from tlf.runtime.triton.device_tensors import Array
from tlf.runtime.triton.fixed_arguments import CallArguments, FixedArguments
from tlf.runtime.triton.interpreted_plan import InterpretedPlan
from tlf.runtime.triton.kernel_admission import KernelFacts
from tlf.runtime.triton.kernel_launcher import KernelLauncher
from tlf.runtime.triton.kernel_prefetch import prefetch_plan_kernels
from tlf.runtime.triton.launch_plan import (
    Plan,
    find_accessed_buffers,
    find_described_buffers,
)
from tlf.runtime.triton.runtime_errors import GuardError

Inputs = Mapping[str, Array] | Sequence[Array]
"""Arguments by name, or in order."""


class Executable:
    """
    A plan that runs on the device of its input tensors, or else on a default device. On
    GPUs, calls may come from several threads, and use the current stream.
    """

    def __init__(self, plan: Plan, device: str) -> None:
        self.device = torch.empty(0, device=device).device
        if self.device.type == "cuda":
            plan = adapt_to_capability(plan, least_capability())
        self.plan = plan
        self.uses_graphs = True
        """True if launches that repeat with the same addresses become a CUDA graph."""
        self.keeps_temporaries = True
        """True if temporaries are kept for further calls, as graphs require."""
        self._buffers = {buffer.name: buffer for buffer in plan.buffers}
        self._launchers = {each.name: KernelLauncher(each) for each in plan.kernels}
        self._constants: dict[torch.device, Mapping[str, torch.Tensor]] = {}
        self._bound: dict[tuple[torch.device, int], BoundPlan] = {}
        """Plans by device and stream."""
        self._nothing_fixed = FixedArguments(())
        self._lock = RLock()
        if self.device.type == "cuda":
            with _launch_context_of_device(self.device):
                prefetch_plan_kernels(plan)
        else:
            _ = self._interpreted_plan

    @property
    def facts(self) -> Mapping[str, KernelFacts]:
        """Resources of the kernels that were launched on a GPU, by name."""
        by_name = {name: each.facts for name, each in self._launchers.items()}
        return {name: facts for name, facts in by_name.items() if facts is not None}

    @property
    def kept_bytes(self) -> int:
        """Bytes of temporaries and constants kept on GPUs for further calls."""
        constants = [
            each for kept in self._constants.values() for each in kept.values()
        ]
        arenas = sum(each.kept_bytes for each in self._bound.values())
        return arenas + sum(each.nbytes for each in constants)

    def device_of_arguments(self, values: Iterable[Array]) -> torch.device:
        """
        Return the device of a run on the given arguments. Raises `GuardError` for
        tensors on several devices.
        """
        devices = [each.device for each in values if isinstance(each, torch.Tensor)]
        return device_tensors.common_device(devices, self.device)

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
        that the interpreter has done. Raises `GuardError` and `KernelError`.
        """
        values = self._order_inputs_by_plan(inputs)
        if device is None:
            device = self.device_of_arguments(values)
        # The device of a tensor has an index.
        device = torch.empty(0, device=device).device
        if as_tensors is None:
            are_tensors = [isinstance(each, torch.Tensor) for each in values]
            as_tensors = bool(are_tensors) and all(are_tensors)
        results = self.run_fixed(
            self._nothing_fixed, (), values, as_tensors, device, observe_fraction
        )
        return dict(zip(self.plan.results, results, strict=True))

    def fix_arguments(self, indices: Sequence[int]) -> FixedArguments:
        """Return some arguments, by index, as those that `run_fixed` checks once."""
        return FixedArguments(tuple(indices)) if indices else self._nothing_fixed

    def run_fixed(
        self,
        fixed: FixedArguments,
        fixed_values: Sequence[Array],
        values: Sequence[Array],
        as_tensors: bool,
        device: torch.device,
        observe_fraction: Callable[[float], object] | None = None,
    ) -> Sequence[Array]:
        """
        Run the plan like a call, with the values of the arguments that are fixed, and
        of the others in order. Returns torch tensors or numpy arrays, in order.
        """
        arguments = CallArguments(fixed, fixed_values, values)
        if device.type == "cuda":
            results = self._run_on_gpu(arguments, device)
        else:
            results = self._interpret(arguments, observe_fraction)
        if as_tensors:
            return results
        return [
            device_tensors.to_numpy(tensor, self._buffers[name].dtype)
            for name, tensor in zip(self.plan.results, results, strict=True)
        ]

    def is_capturing(self, device: torch.device) -> bool:
        """Return `True` if the current stream is captured, and the device is a GPU."""
        return device.type == "cuda" and torch.cuda.is_current_stream_capturing()

    def wait_for_stream(self, device: torch.device) -> None:
        """
        Wait for the launches on the current stream of a device, if it is a GPU; not
        during a capture, in which nothing runs.
        """
        if device.type == "cuda" and not self.is_capturing(device):
            torch.cuda.current_stream(device).synchronize()

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

    @cached_property
    def _interpreted_plan(self) -> InterpretedPlan:
        """Plan for Triton's interpreter."""
        constants = self._upload_constants(self.device)
        return InterpretedPlan(self.plan, constants, self.device)

    def _interpret(
        self,
        arguments: CallArguments,
        observe_fraction: Callable[[float], object] | None,
    ) -> Sequence[torch.Tensor]:
        """Run the plan in the interpreter, and return the results."""
        accessed = find_accessed_buffers(self.plan)
        by_name = zip(self.plan.arguments, arguments.order_by_plan(), strict=True)
        values = {name: each for name, each in by_name if name in accessed}
        guard = ArgumentGuard(
            [self._buffers[each] for each in values],
            self.device,
            find_described_buffers(self.plan),
        )
        uploaded = guard.upload_arguments([*values.values()])
        buffers = dict(zip(values, uploaded, strict=True))
        results = {
            name: device_tensors.allocate_device_buffer(
                self._buffers[name], self.device
            )
            for name in self.plan.results
        }
        self._interpreted_plan.run({**buffers, **results}, observe_fraction)
        return [*results.values()]

    def _run_on_gpu(
        self, arguments: CallArguments, device: torch.device
    ) -> Sequence[torch.Tensor]:
        """Enqueue the plan on the current stream of a GPU, and return the results."""
        with _launch_context_of_device(device):
            bound = self._bind_to_current_stream(device)
            return bound.run(arguments, self.uses_graphs, self.keeps_temporaries)

    @cached_property
    def _read_stream(self) -> Callable[[int | None], int]:
        """Function that returns the handle of the current stream of a GPU, by index."""
        return import_module("triton.runtime").driver.active.get_current_stream

    def _bind_to_current_stream(self, device: torch.device) -> BoundPlan:
        """Return the plan on the current stream of a device."""
        key = device, self._read_stream(device.index)
        if (known := self._bound.get(key)) is not None:
            return known
        with self._lock:
            if device not in self._constants:
                self._constants[device] = self._upload_constants(device)
            if key not in self._bound:
                stream = torch.cuda.current_stream(device)
                constants = self._constants[device]
                bound = BoundPlan(self.plan, self._launchers, constants, stream)
                self._bound[key] = bound
            return self._bound[key]

    def _upload_constants(self, device: torch.device) -> Mapping[str, torch.Tensor]:
        """Return the constants of the plan on a device."""
        return {
            buffer.name: device_tensors.upload_constant(buffer, device)
            for buffer in self.plan.buffers
            if buffer.kind == "constant"
        }


def _launch_context_of_device(device: torch.device) -> AbstractContextManager[object]:
    """Return a context that launches kernels on a device."""
    if device.type != "cuda" or torch.cuda.current_device() == device.index:
        return nullcontext()
    return torch.cuda.device(device)
