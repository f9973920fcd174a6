"""API: weights of a program, which are converted and bound until they change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tlf.compiler.api.argument_conversion import (
    ArgumentType,
    InputConverter,
    convert_argument,
)
from tlf.compiler.backends.argument_snapshots import ArgumentSnapshot
from tlf.compiler.backends.executables import (
    Buffer,
    Executable,
    Outcome,
    is_torch_tensor,
)
from tlf.compiler.backends.weight_snapshot import WeightSnapshot


class WeightConverter:
    """Conversion of weights; copies are kept until the weights change."""

    def __init__(self) -> None:
        self._copies: dict[str, tuple[ArgumentSnapshot, Buffer]] = {}

    def forget_copies(self) -> None:
        """Copy weights again at the next call."""
        self._copies.clear()

    def convert_weights(
        self, weights: Mapping[str, Buffer], executable: Executable, device: Any
    ) -> Mapping[str, Buffer]:
        """
        Return weights as an executable takes them. Copies are complete, for use on all
        streams, but in a capture of the caller, whose graph copies the weights itself.
        """
        known = {} if executable.is_capturing(device) else self._copies
        copied = False
        converted = dict(weights)
        for name, value in weights.items():
            if (copy := self._find_copy(known, name, value, device)) is None:
                snapshot = ArgumentSnapshot(value) if is_torch_tensor(value) else None
                copy = convert_argument(name, value, executable, device)
                if copy is not value and snapshot is not None:
                    known[name] = snapshot, copy
                    copied = True
            converted[name] = copy
        if copied:
            executable.wait_for_results(device)
        return converted

    @staticmethod
    def _find_copy(
        copies: Mapping[str, tuple[ArgumentSnapshot, Buffer]],
        name: str,
        value: Buffer,
        device: Any,
    ) -> Buffer | None:
        """Return the copy of a weight on a device, if it is still right."""
        if (known := copies.get(name)) is None or not is_torch_tensor(value):
            return None
        snapshot, copy = known
        if getattr(copy, "device", None) != device or not snapshot.is_unchanged(value):
            return None
        return copy


class WeightBinding:
    """A program with its weights on one device, for calls until they change."""

    def __init__(
        self,
        executable: Executable,
        device: Any,
        weights: Mapping[str, Buffer],
        converted: Mapping[str, Buffer],
        inputs: Mapping[str, ArgumentType],
    ) -> None:
        self.device = device
        self._inputs = InputConverter(inputs, executable, device, weights)
        copied = [converted[name] is not value for name, value in weights.items()]
        prepared = set(executable.prepared_arguments)
        watched = [
            index
            for index, name in enumerate(weights)
            if copied[index] or name in prepared
        ]
        values = tuple(weights.values())
        self._snapshot = (
            WeightSnapshot(values, watched)
            if all(map(is_torch_tensor, values))
            else None
        )
        self._copies = tuple(converted.values()) if any(copied) else None
        self._program = executable.bind_weights(converted, device)

    def accepts_weights(self, weights: Sequence[Buffer]) -> bool:
        """Return `True` if weights are those that were bound, and are unchanged."""
        return self._snapshot is not None and self._snapshot.are_unchanged(weights)

    def convert_inputs(self, inputs: Sequence[Buffer]) -> Mapping[str, Buffer] | None:
        """
        Return the other arguments of a call by name, as the program takes them; `None`
        if the call is one on another device.
        """
        return self._inputs.convert_arguments(inputs)

    def run(self, weights: Sequence[Buffer], inputs: Mapping[str, Buffer]) -> Outcome:
        """Run the program on the weights, and on other arguments as converted."""
        return self._program(self._copies or weights, inputs)
