"""Programs whose last arguments another program computes from weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tlf.tools.executables import (
    Buffer,
    Executable,
    NotSimulatedError,
    Outcome,
    Simulated,
    is_tensor,
)


class PreparedProgram:
    """
    A program that another one, the preparation, has to run before: at the first call,
    and when the arguments that it takes changed since.

    Arrays of numpy are compared with what they were. A tensor of torch counts as
    changed if it is another one or was written to, as its version counter tells, which
    misses what is written through `.data`, and to tensors of an inference mode, which
    have none.
    """

    def __init__(
        self, main: Executable, preparation: Executable, taken: tuple[str, ...]
    ) -> None:
        self.main = main
        self.preparation = preparation
        self.taken = taken
        self._seen: dict[str, Seen] = {}
        self._outcome: Outcome | None = None

    @property
    def artifacts(self) -> Mapping[str, str]:
        """Texts that it runs from, by file name."""
        first = self.preparation.artifacts
        return {
            **self.main.artifacts,
            **{f"prepare_{name}": text for name, text in first.items()},
        }

    @property
    def takes_tensors(self) -> bool:
        """Whether it runs on torch tensors where they lie."""
        return self.main.takes_tensors

    def device_for(self, inputs: Mapping[str, Buffer]) -> Any:
        """The device of torch that a run takes place on."""
        return self.main.device_for(inputs)

    def forget(self) -> None:
        """Run the preparation again at the next call."""
        self._outcome = None

    def __call__(self, inputs: Mapping[str, Buffer]) -> Outcome:
        """Run on arrays by the names of arguments."""
        first = self._outcome
        if first is None or any(
            not self._seen[name].is_still(inputs[name]) for name in self.taken
        ):
            taken = {name: inputs[name] for name in self.taken}
            first = self._outcome = self.preparation(taken)
            self._seen = {name: Seen(value) for name, value in taken.items()}
        return self._together(self.main({**inputs, **first.results}), first)

    def time(self) -> Outcome:
        """What a run of both costs, without data, where they are simulated."""
        parts = self.main, self.preparation
        main, first = (
            part.time() if isinstance(part, Simulated) else None for part in parts
        )
        if main is None or first is None:
            raise NotSimulatedError
        return self._together(main, first)

    def _together(self, outcome: Outcome, first: Outcome) -> Outcome:
        rows = [(f"prepare: {title}", text) for title, text in first.rows]
        figures = {f"prepare.{name}": value for name, value in first.figures.items()}
        artifacts: Mapping[str, str] = self.artifacts if outcome.artifacts else {}
        return Outcome(
            outcome.results,
            [*outcome.rows, *rows],
            {**outcome.figures, **figures},
            artifacts,
            outcome.stretches,
        )


class Seen:
    """An argument as it was."""

    def __init__(self, value: Buffer) -> None:
        self.value: Any = value if is_tensor(value) else np.array(value)
        self.version = _version(value)
        self.place: int | None = value.data_ptr() if is_tensor(value) else None

    def is_still(self, value: Buffer) -> bool:
        """Whether an argument holds what this one held."""
        if not is_tensor(value) or not is_tensor(self.value):
            return not is_tensor(self.value) and _is_equal(self.value, value)
        if _version(value) != self.version:
            return False
        if value.data_ptr() != self.place:
            return False
        is_same = value is self.value
        return is_same or (
            value.stride() == self.value.stride() and value.device == self.value.device
        )


def _is_equal(left: Any, right: Any) -> bool:
    """Whether arrays of one shape and dtype have the same bits."""
    return np.array_equal(
        np.ascontiguousarray(left).reshape(-1).view(np.uint8),
        np.ascontiguousarray(right).reshape(-1).view(np.uint8),
    )


def _version(value: Any) -> int | None:
    """The version of a tensor; none for one of an inference mode."""
    if not is_tensor(value) or value.is_inference():
        return None
    return value._version
