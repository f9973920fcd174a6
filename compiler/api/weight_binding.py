"""API: weights of a program, which are converted and bound until they change."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
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


class ReleasedWeightsError(RuntimeError):
    """
    Values have to be computed again from weights that were released, as another weight
    or the device has changed.
    """

    def __init__(self) -> None:
        super().__init__(
            "expected the weights and the device of the first call, from which values "
            "were computed before their weights were released"
        )


class WeightConverter:
    """Conversion of weights; copies are kept until the weights change."""

    def __init__(self) -> None:
        self._copies: dict[str, tuple[ArgumentSnapshot, Buffer]] = {}

    def forget_copies(self, names: Collection[str] | None = None) -> None:
        """Drop the copies of some weights, by default of all."""
        for name in [*self._copies] if names is None else names:
            self._copies.pop(name, None)

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
        self._names = tuple(weights)
        self._inputs = InputConverter(inputs, executable, device, weights)
        self._copies = {
            name: converted[name]
            for name, value in weights.items()
            if converted[name] is not value
        }
        self._watched = {*self._copies, *executable.prepared_arguments}
        self._snapshot = self._take_snapshot(weights)
        self._program = executable.bind_weights(converted, device)

    def _take_snapshot(self, weights: Mapping[str, Buffer]) -> WeightSnapshot | None:
        """Return a snapshot, by which changes are seen; `None` if they are not."""
        values = tuple(weights.values())
        if not all(map(is_torch_tensor, values)):
            return None
        watched = [at for at, name in enumerate(weights) if name in self._watched]
        return WeightSnapshot(values, watched)

    def release_weights(
        self, weights: Mapping[str, Buffer], released: Collection[str]
    ) -> None:
        """Empty tensors that are not used any more, and drop copies of them."""
        for name in released:
            weights[name].data = weights[name].new_empty(0)
            self._copies.pop(name, None)
        self._watched.difference_update(released)
        self._snapshot = self._take_snapshot(weights)

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
        if self._copies:
            named = zip(self._names, weights, strict=True)
            weights = [self._copies.get(name, each) for name, each in named]
        return self._program(weights, inputs)
