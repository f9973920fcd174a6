"""Backends: executables, which run compiled programs behind one protocol."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from tlf.compiler.backends.device_memory import DeviceMemory
from tlf.compiler.backends.npu_report_rows import Row, report_figures, report_rows
from tlf.support.progress import fraction_reporter, report_step

if TYPE_CHECKING:
    from xdsl.dialects import func

    from tlf.runtime.npu.npu_program import Program as NpuProgram
    from tlf.runtime.npu.run_metrics import ProgramSegment
    from tlf.support.affine.axis_orders import Order

Buffer: TypeAlias = Any
"""A numpy array, or a torch tensor for backends that take tensors."""


def is_torch_tensor(value: object) -> bool:
    """Return `True` if a value is a torch tensor, without loading torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


@dataclass
class Outcome:
    """Results of one run by name, with its known costs as table rows and as figures."""

    results: Mapping[str, Buffer]
    rows: Sequence[Row] = ()
    figures: Mapping[str, float] = field(default_factory=dict[str, float])
    """Costs by name."""
    artifacts: Mapping[str, str] = field(default_factory=dict[str, str])
    """Generated texts of the program, by file name."""
    segments: Sequence[ProgramSegment] = ()
    """Timeline of a simulated program."""


@dataclass(frozen=True)
class Preparation:
    """Function that computes the last arguments of another function."""

    name: str
    argument_indices: tuple[int, ...]
    """Indices of the arguments of the other function that the preparation takes."""
    result_count: int


@dataclass(frozen=True)
class Signature:
    """
    Names of a function, of its arguments and of its results, in order, and its weight
    preparation, if it has one.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    name: str = ""
    preparation: Preparation | None = None

    @staticmethod
    def from_function(function: func.FuncOp) -> Signature:
        """Return the signature of `function`."""
        # Imported only here: programs that are loaded need no IR.
        from tlf.dialects.entry_point import argument_names, result_names

        name = function.sym_name.data
        return Signature(argument_names(function), result_names(function), name)

    def split_preparation(
        self, preparation_function: Preparation
    ) -> tuple[Signature, Signature]:
        """
        Return the signatures of the preparation and of the function that it prepares.
        """
        names = tuple(
            f"prepared {index}" for index in range(preparation_function.result_count)
        )
        inputs = tuple(
            self.inputs[position] for position in preparation_function.argument_indices
        )
        return (
            Signature(inputs, names, preparation_function.name),
            Signature((*self.inputs, *names), self.outputs, self.name),
        )


class NotSimulatedError(Exception):
    """Error: the time of a program that no simulator runs was requested."""

    def __init__(self) -> None:
        super().__init__("expected a target of the backend npu for the time of a run")


class BoundProgram(Protocol):
    """Protocol of a program whose weights are bound, on one device."""

    def __call__(
        self, weights: Sequence[Buffer], inputs: Mapping[str, Buffer]
    ) -> Outcome:
        """Run on the weights that were bound, in order, and on the other arguments."""
        ...


class Executable(Protocol):
    """Protocol of a compiled program, which can be run repeatedly."""

    @property
    def artifacts(self) -> Mapping[str, str]:
        """Generated texts of the program, by file name."""
        ...

    @property
    def takes_tensors(self) -> bool:
        """
        True if torch tensors are used in place; otherwise only numpy arrays are
        accepted.
        """
        ...

    @property
    def axis_orders(self) -> Mapping[str, Order]:
        """
        Axes in memory order, outermost first, of the arguments that are used in place
        and are not row-major, by name.
        """
        ...

    def device_for(self, inputs: Mapping[str, Buffer]) -> Any:
        """Return the torch device of a run; `None` for numpy on the host."""
        ...

    def __call__(self, inputs: Mapping[str, Buffer], device: Any = None) -> Outcome:
        """Run on arrays by argument name, on a device if it is known."""
        ...

    @property
    def memory(self) -> DeviceMemory | None:
        """Memory that calls use on a GPU; `None` for programs of the host."""
        ...

    @property
    def prepared_arguments(self) -> Collection[str]:
        """Names of the weights from which values are computed when they are bound."""
        ...

    @property
    def replaced_arguments(self) -> Collection[str]:
        """Names of the prepared arguments that nothing else is computed from."""
        ...

    def bind_weights(self, weights: Mapping[str, Buffer], device: Any) -> BoundProgram:
        """Return a program for calls on a device as long as weights are unchanged."""
        ...

    def is_capturing(self, device: Any) -> bool:
        """Return `True` if the caller captures the calls, which do not run now."""
        ...

    def wait_for_results(self, device: Any) -> None:
        """Wait until the results of calls are complete, for use on other streams."""
        ...

    def use_cuda_graphs(self, is_allowed: bool) -> None:
        """Allow or forbid launches as CUDA graphs, which are allowed by default."""
        ...


@dataclass(frozen=True)
class RunWithWeights:
    """A program whose weights are passed with its other arguments in each call."""

    executable: Executable
    names: Sequence[str]
    """Names of the weights."""
    device: Any

    def __call__(
        self, weights: Sequence[Buffer], inputs: Mapping[str, Buffer]
    ) -> Outcome:
        """Run on weights and other arguments."""
        by_name = dict(zip(self.names, weights, strict=True))
        return self.executable({**by_name, **inputs}, self.device)


class HostExecutable(ABC):
    """A program that runs on the host, on numpy arrays."""

    artifacts: Mapping[str, str]
    takes_tensors: bool

    @abstractmethod
    def __call__(self, inputs: Mapping[str, Buffer], device: Any = None) -> Outcome:
        """Run on arrays by argument name."""

    @property
    def axis_orders(self) -> Mapping[str, Order]:
        """Return no orders: arrays are reordered during the call."""
        return {}

    @property
    def memory(self) -> DeviceMemory | None:
        """Return `None`: no memory of a GPU is used."""
        return None

    @property
    def prepared_arguments(self) -> Collection[str]:
        """Return no names: nothing is computed from weights alone."""
        return ()

    @property
    def replaced_arguments(self) -> Collection[str]:
        """Return no names: nothing is computed from weights alone."""
        return ()

    def bind_weights(self, weights: Mapping[str, Buffer], device: Any) -> BoundProgram:
        """Return a program that takes weights like other arguments."""
        return RunWithWeights(self, tuple(weights), device)

    def is_capturing(self, device: Any) -> bool:
        """Return `False`: nothing is captured."""
        return False

    def wait_for_results(self, device: Any) -> None:
        """Return at once: calls return complete results."""

    def use_cuda_graphs(self, is_allowed: bool) -> None:
        """Ignore the setting: nothing is launched."""

    def device_for(self, inputs: Mapping[str, Buffer]) -> Any:
        """Return `None`: there is no torch device."""


@dataclass(frozen=True)
class EmptyProgram(HostExecutable):
    """Executable of a function without results, which does nothing when it runs."""

    artifacts: Mapping[str, str] = field(default_factory=dict[str, str])
    takes_tensors: bool = True

    def __call__(self, inputs: Mapping[str, Buffer], device: Any = None) -> Outcome:
        return Outcome({})


@dataclass(frozen=True)
class SimulatedProgram(HostExecutable):
    """Executable that simulates an NPU program on numpy arrays, with its timing."""

    program: NpuProgram
    signature: Signature
    artifacts: Mapping[str, str]
    takes_tensors: bool = False

    @staticmethod
    def parse_text(
        text: str, side_file_folder: Path, signature: Signature
    ) -> SimulatedProgram:
        """
        Return an executable of the NPU program `text`; paths of its side files are
        relative to `side_file_folder`.
        """
        from tlf.runtime import npu

        program = npu.parse(text, side_file_folder)
        return SimulatedProgram(program, signature, {"program.npu": text})

    def __call__(self, inputs: Mapping[str, Buffer], device: Any = None) -> Outcome:
        from tlf.runtime import npu

        values = [inputs[name] for name in self.signature.inputs]
        inputs_by_name = dict(zip(self.program.inputs, values, strict=True))
        with report_step("simulate"):
            report = npu.run(
                self.program, inputs_by_name, observe_fraction=fraction_reporter()
            )
        outputs = report.outputs.values()
        results = dict(zip(self.signature.outputs, outputs, strict=True))
        costs = report_rows(report), report_figures(report), self.artifacts
        return Outcome(results, *costs, report.segments)

    def simulate_timing(self) -> Outcome:
        """Return the cost of a run from timing only: no data, no results."""
        from tlf.runtime import npu

        with report_step("simulate"):
            report = npu.run(
                self.program,
                {},
                functional=False,
                observe_fraction=fraction_reporter(),
            )
        costs = report_rows(report), report_figures(report), self.artifacts
        return Outcome({}, *costs, report.segments)
