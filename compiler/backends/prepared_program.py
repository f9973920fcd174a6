"""Backends: programs with a weight preparation that runs before the first call."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tlf.compiler.backends.argument_snapshots import ArgumentSnapshots
from tlf.compiler.backends.device_memory import DeviceMemory
from tlf.compiler.backends.executables import (
    BoundProgram,
    Buffer,
    Executable,
    NotSimulatedError,
    Outcome,
    RunWithWeights,
    SimulatedProgram,
)
from tlf.compiler.backends.npu_report_rows import Row
from tlf.compiler.backends.triton_kernels import TritonKernels

if TYPE_CHECKING:
    from tlf.support.affine.axis_orders import Order


class PreparedProgram:
    """
    A program with a preparation that runs before the first call, and again when the
    arguments of the preparation have changed.
    """

    def __init__(
        self,
        main: Executable,
        preparation: Executable,
        preparation_inputs: tuple[str, ...],
    ) -> None:
        self.main = main
        self.preparation = preparation
        self.taken = preparation_inputs
        self._prepared: tuple[Outcome, ArgumentSnapshots] | None = None
        """The preparation's outcome, and the arguments that it was computed from."""

    @property
    def artifacts(self) -> Mapping[str, str]:
        """
        Generated texts of both programs by file name, those of the preparation with the
        prefix `prepare_`.
        """
        first = self.preparation.artifacts
        return {
            **self.main.artifacts,
            **{f"prepare_{name}": text for name, text in first.items()},
        }

    @property
    def takes_tensors(self) -> bool:
        """True if torch tensors are used in place."""
        return self.main.takes_tensors

    @property
    def axis_orders(self) -> Mapping[str, Order]:
        """Axes in memory order of the arguments that are not row-major, by name."""
        return self.main.axis_orders

    def device_for(self, inputs: Mapping[str, Buffer]) -> Any:
        """Return the torch device of a run."""
        return self.main.device_for(inputs)

    @property
    def prepared_arguments(self) -> Collection[str]:
        """Names of the arguments of the preparation."""
        return self.taken

    @property
    def replaced_arguments(self) -> Collection[str]:
        """Names of the arguments that only the preparation accesses."""
        if not isinstance(self.main, TritonKernels):
            return ()
        return self.main.ignored_arguments.intersection(self.taken)

    @property
    def memory(self) -> DeviceMemory | None:
        """Memory of the program, with that of the preparation apart."""
        main, first = self.main.memory, self.preparation.memory
        if main is None or first is None:
            return main
        return replace(
            main,
            constants=main.constants + first.constants,
            prepared=first.results,
            preparation_arena=first.arena,
        )

    def invalidate_preparation(self) -> None:
        """Run the preparation again at the next call."""
        self._prepared = None

    def __call__(self, inputs: Mapping[str, Buffer], device: Any = None) -> Outcome:
        """Run on arrays by argument name, on a device if it is known."""
        prepared = self._prepare(inputs, device)
        return self._combine_outcomes(
            self.main({**inputs, **prepared.results}, device), prepared
        )

    def bind_weights(self, weights: Mapping[str, Buffer], device: Any) -> BoundProgram:
        """Return a program for the prepared values of weights, which are computed."""
        if not set(self.taken) <= weights.keys():
            return RunWithWeights(self, tuple(weights), device)
        prepared = self._prepare(weights, device)
        main = self.main.bind_weights({**weights, **prepared.results}, device)
        return _PreparedRun(main, prepared, self._add_costs)

    def is_capturing(self, device: Any) -> bool:
        """Return `True` if the caller captures the calls, which do not run now."""
        return self.main.is_capturing(device)

    def _prepare(self, inputs: Mapping[str, Buffer], device: Any) -> Outcome:
        """
        Return the preparation's outcome, of an earlier call if nothing changed. In a
        capture of the caller it is computed by the caller's graph only.
        """
        values = [inputs[name] for name in self.taken]
        if (known := self._prepared) is not None and known[1].are_unchanged(values):
            return known[0]
        arguments = dict(zip(self.taken, values, strict=True))
        # Writes of other threads meanwhile are changes.
        snapshots = ArgumentSnapshots(values)
        outcome = self.preparation(arguments, device)
        if self.preparation.is_capturing(device):
            return outcome
        self.preparation.wait_for_results(device)
        self._prepared = outcome, snapshots
        return outcome

    def wait_for_results(self, device: Any) -> None:
        """Wait until the results of calls are complete, for use on other streams."""
        self.main.wait_for_results(device)

    def use_cuda_graphs(self, is_allowed: bool) -> None:
        """Allow or forbid launches of the program as CUDA graphs."""
        self.main.use_cuda_graphs(is_allowed)

    def simulate_timing(self) -> Outcome:
        """Return the cost of a run of both from timing only, if they are simulated."""
        parts = self.main, self.preparation
        main, first = (
            part.simulate_timing() if isinstance(part, SimulatedProgram) else None
            for part in parts
        )
        if main is None or first is None:
            raise NotSimulatedError
        return self._combine_outcomes(main, first)

    def _combine_outcomes(
        self, main_outcome: Outcome, preparation_outcome: Outcome
    ) -> Outcome:
        """
        Return `main_outcome` with rows and figures of the preparation, prefixed
        `prepare`.
        """
        costs = _PreparationCosts.of_outcome(preparation_outcome)
        return self._add_costs(main_outcome, costs)

    def _add_costs(self, main_outcome: Outcome, costs: _PreparationCosts) -> Outcome:
        """Return `main_outcome` with the costs of the preparation."""
        artifacts: Mapping[str, str] = self.artifacts if main_outcome.artifacts else {}
        return Outcome(
            main_outcome.results,
            [*main_outcome.rows, *costs.rows],
            {**main_outcome.figures, **costs.figures},
            artifacts,
            main_outcome.segments,
        )


@dataclass(frozen=True)
class _PreparationCosts:
    """Rows and figures of a preparation, prefixed `prepare`."""

    rows: Sequence[Row]
    figures: Mapping[str, float]

    @staticmethod
    def of_outcome(outcome: Outcome) -> _PreparationCosts:
        """Return the costs of a run of the preparation."""
        rows = [(f"prepare: {title}", text) for title, text in outcome.rows]
        figures = {f"prepare.{name}": value for name, value in outcome.figures.items()}
        return _PreparationCosts(rows, figures)


class _PreparedRun:
    """A bound program with the values that its preparation computed."""

    def __init__(
        self,
        main: BoundProgram,
        prepared: Outcome,
        add_costs: Callable[[Outcome, _PreparationCosts], Outcome],
    ) -> None:
        self._main = main
        self._values = tuple(prepared.results.values())
        self._costs = _PreparationCosts.of_outcome(prepared)
        self._add_costs = add_costs

    def __call__(
        self, weights: Sequence[Buffer], inputs: Mapping[str, Buffer]
    ) -> Outcome:
        """Run on the weights that were bound, in order, and on the other arguments."""
        outcome = self._main((*weights, *self._values), inputs)
        return self._add_costs(outcome, self._costs)
