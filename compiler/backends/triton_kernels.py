"""Backends: executable that runs Triton kernels, and one with its weights bound."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tlf.compiler.backends.device_memory import DeviceMemory
from tlf.compiler.backends.executables import (
    Buffer,
    Outcome,
    Signature,
    is_torch_tensor,
)
from tlf.runtime.triton.launch_plan import find_accessed_buffers
from tlf.support.progress import fraction_reporter, report_step

if TYPE_CHECKING:
    from tlf.runtime.triton.executable_plan import Executable as TritonExecutable
    from tlf.support.affine.axis_orders import Order


@dataclass(frozen=True)
class TritonKernels:
    """Executable that runs Triton kernels on numpy arrays or torch tensors."""

    executable: TritonExecutable
    signature: Signature
    artifacts: Mapping[str, str]
    axis_orders: Mapping[str, Order]
    """Axes in memory order of the arguments that are not row-major, by name."""
    takes_tensors: bool = True
    returns_tensors: bool | None = None
    """True if results are torch tensors; if `None`, they are if all arguments are."""

    @staticmethod
    def load_text(text: str, signature: Signature) -> TritonKernels:
        """
        Return an executable of `text`, which has kernel sources followed by their
        launch plan.
        """
        from tlf.runtime import triton

        with report_step("load kernels"):
            plan = triton.load_plan(text)
            executable = triton.prepare(plan)
        orders = dict(zip(signature.inputs, plan.argument_axis_orders(), strict=True))
        return TritonKernels(
            executable,
            signature,
            {"program.triton.py": text},
            {name: order for name, order in orders.items() if order is not None},
        )

    def device_for(self, inputs: Mapping[str, Buffer]) -> Any:
        """
        Return the device of the tensors among the arguments, or the default device.
        """
        return self.executable.device_of_arguments(inputs.values())

    def __call__(self, inputs: Mapping[str, Buffer], device: Any = None) -> Outcome:
        return self.bind_weights({}, device)((), inputs)

    @property
    def memory(self) -> DeviceMemory | None:
        """Memory of the plan."""
        return DeviceMemory.from_plan(self.executable.plan)

    @property
    def prepared_arguments(self) -> Collection[str]:
        """Return no names: nothing is computed from weights alone."""
        return ()

    @property
    def replaced_arguments(self) -> Collection[str]:
        """Return no names: nothing is computed from weights alone."""
        return ()

    @property
    def ignored_arguments(self) -> frozenset[str]:
        """Names of the arguments that no kernel accesses."""
        accessed = find_accessed_buffers(self.executable.plan)
        names = zip(self.signature.inputs, self.executable.plan.arguments, strict=True)
        return frozenset(name for name, argument in names if argument not in accessed)

    def bind_weights(self, weights: Mapping[str, Buffer], device: Any) -> BoundKernels:
        """Return a program that checks weights and looks up their addresses once."""
        return BoundKernels(self, weights, device)

    def is_capturing(self, device: Any) -> bool:
        """Return `True` during a capture of the current stream of a GPU."""
        return self.executable.is_capturing(device or self.executable.device)

    def wait_for_results(self, device: Any) -> None:
        """Wait for the current stream of a GPU."""
        self.executable.wait_for_stream(device or self.executable.device)

    def use_cuda_graphs(self, is_allowed: bool) -> None:
        """Allow or forbid launches as CUDA graphs."""
        self.executable.uses_graphs = is_allowed


class BoundKernels:
    """Triton kernels whose weights have the same addresses in all calls."""

    def __init__(
        self, kernels: TritonKernels, weights: Mapping[str, Buffer], device: Any
    ) -> None:
        self._executable = kernels.executable
        self._kernels = kernels
        self._device = device or kernels.executable.device
        self._has_arrays = not all(map(is_torch_tensor, weights.values()))
        names = kernels.signature.inputs
        self._fixed = self._executable.fix_arguments([*map(names.index, weights)])
        self._inputs = [name for name in names if name not in weights]
        memory = DeviceMemory.from_plan(self._executable.plan)
        self._figures = {
            "kernels": len(self._executable.plan.kernels),
            "arena_bytes": memory.arena,
            "result_bytes": memory.results,
            "constant_bytes": memory.constants,
        }
        self._rows = [
            (name.replace("_", " "), f"{value:,}")
            for name, value in self._figures.items()
        ]

    def __call__(
        self, weights: Sequence[Buffer], inputs: Mapping[str, Buffer]
    ) -> Outcome:
        """Run on the weights that were bound, in order, and on the other arguments."""
        values = [inputs[name] for name in self._inputs]
        as_tensors = self._kernels.returns_tensors
        if as_tensors is None:
            are_tensors = not self._has_arrays and all(map(is_torch_tensor, values))
            as_tensors = are_tensors and bool(weights or values)
        with report_step("run kernels"):
            outputs = self._executable.run_fixed(
                self._fixed,
                weights,
                values,
                as_tensors,
                self._device,
                fraction_reporter(),
            )
        by_name = dict(zip(self._kernels.signature.outputs, outputs, strict=True))
        artifacts = self._kernels.artifacts
        return Outcome(by_name, self._rows, self._figures, artifacts)
