"""
API: callable programs, which run on numpy arrays and torch tensors. Needs neither IR
nor the compiler.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from tlf.compiler.backends.argument_snapshots import ArgumentSnapshot
from tlf.compiler.backends.executables import (
    Buffer,
    Executable,
    Signature,
    is_torch_tensor,
)
from tlf.compiler.backends.prepared_program import PreparedProgram

if TYPE_CHECKING:
    from tlf.compiler.api.runtime_checks import RuntimeChecks


@dataclass(frozen=True)
class ArgumentType:
    """Declared shape and dtype name of an argument."""

    shape: tuple[int, ...]
    dtype: str
    is_weight: bool = False
    """True if the argument is constant across calls."""


class CallableProgram:
    """
    A compiled function. It is called with its arguments in order or by name: numpy
    arrays or torch tensors of the shapes and dtypes that the program declares. It
    returns a single result, or a tuple of several; these are torch tensors if all
    arguments are.
    """

    def __init__(
        self,
        signature: Signature,
        argument_types: Sequence[ArgumentType],
        executable: Executable,
        checks: RuntimeChecks | None = None,
    ) -> None:
        self.signature = signature
        self.argument_types = tuple(argument_types)
        self.executable = executable
        self.checks = checks
        self._kept: dict[str, tuple[ArgumentSnapshot, Buffer]] = {}
        self._figures: dict[str, float] = {}

    def __call__(self, *arguments: Buffer, **named: Buffer) -> Any:
        """Run the program."""
        inputs = self._bind_arguments(arguments, named)
        results = self.run(inputs)
        return results[0] if len(results) == 1 else results

    def run(
        self, inputs: Mapping[str, Buffer], as_tensors: bool | None = None
    ) -> tuple[Buffer, ...]:
        """
        Run the program on arguments by name, and return all results. If `as_tensors` is
        `None`, results are torch tensors if all arguments are.
        """
        self._check_shapes_and_dtypes(inputs)
        if as_tensors is None:
            as_tensors = bool(inputs) and all(map(is_torch_tensor, inputs.values()))
        device = self.executable.device_for(inputs)
        accepted = {
            name: self._convert_for_backend(name, each, device)
            for name, each in inputs.items()
        }
        outcome = self.executable(accepted, device)
        self._figures.update(outcome.figures)
        results_by_name = outcome.results
        if self.checks is not None:
            results_by_name = self.checks.verify_and_strip(results_by_name)
        results = results_by_name.values()
        return tuple(_to_torch_tensor(each) if as_tensors else each for each in results)

    def refresh(self) -> None:
        """
        Recompute the results of the weight preparation at the next call. Changed
        weights are detected without this call, except for writes that PyTorch does not
        count; `tlf.refresh` reports those to all programs.
        """
        self._kept.clear()
        if isinstance(self.executable, PreparedProgram):
            self.executable.invalidate_preparation()

    def _bind_arguments(
        self, arguments: Sequence[Buffer], named: Mapping[str, Buffer]
    ) -> Mapping[str, Buffer]:
        """
        Map all arguments to input names. Raises `TypeError` if any is missing or extra.
        """
        names = self.signature.inputs
        inputs = dict(zip(names, arguments, strict=False)) | dict(named)
        if len(arguments) > len(names) or set(inputs) != set(names):
            listed = ", ".join(names) or "none"
            got = ", ".join([*map(str, range(len(arguments))), *named]) or "none"
            raise TypeError(f"expected arguments {listed}, got {got}")
        return inputs

    def _check_shapes_and_dtypes(self, inputs: Mapping[str, Buffer]) -> None:
        """Raise `TypeError` at the first input that differs from its declared type."""
        for name, expected in zip(
            self.signature.inputs, self.argument_types, strict=True
        ):
            value = inputs[name]
            if value.shape != expected.shape:
                shape = tuple(value.shape)
                raise TypeError(
                    f"argument `{name}`: expected shape {expected.shape}, got {shape}"
                )
            if (dtype := _dtype_name_of(value.dtype)) != expected.dtype:
                raise TypeError(
                    f"argument `{name}`: expected {expected.dtype}, got {dtype}"
                )

    def _convert_for_backend(self, name: str, value: Buffer, device: Any) -> Buffer:
        """
        Return `value` in the form that the backend takes: as it is, as a row-major copy
        on `device`, or as a numpy array.
        """
        if not is_torch_tensor(value):
            return value
        if self.executable.takes_tensors:
            if value.is_contiguous() and device in (None, value.device):
                return value
            return self._copy_to_device(name, value, device)
        from tlf.support.tensor_arrays import to_array

        return to_array(value)

    def _copy_to_device(self, name: str, value: Buffer, device: Any) -> Buffer:
        """
        Return a row-major copy on a device. The copy of a weight is cached until the
        weight or the device changes.
        """
        device = device or value.device
        if name not in self._weight_names:
            return value.detach().to(device).contiguous()
        cached = self._kept.get(name)
        if (
            cached is None
            or cached[1].device != device
            or not cached[0].is_unchanged(value)
        ):
            copy = value.detach().to(device).contiguous()
            cached = self._kept[name] = ArgumentSnapshot(value), copy
        return cached[1]

    @cached_property
    def _weight_names(self) -> frozenset[str]:
        """Names of the arguments that are weights."""
        pairs = zip(self.signature.inputs, self.argument_types, strict=True)
        return frozenset(name for name, type_ in pairs if type_.is_weight)

    @property
    def stats(self) -> Mapping[str, float]:
        """
        Statistics of the cost: `compile_seconds`, unless the program was loaded; of the
        last run on an NPU cycles, seconds and bytes by level; on a GPU the number of
        kernels.
        """
        return dict(self._figures)

    @property
    def stages(self) -> tuple[str, ...]:
        """Valid arguments of `ir`: the generated texts."""
        return tuple(self.executable.artifacts)

    def ir(self, stage: str) -> str:
        """Return a generated text. Raises `KeyError` for an unknown stage."""
        if stage not in self.executable.artifacts:
            raise KeyError(f"expected a stage among {', '.join(self.stages)}")
        return self.executable.artifacts[stage]


@cache
def _dtype_name_of(dtype: object) -> str:
    """Return the name of a numpy or torch dtype."""
    return str(dtype).removeprefix("torch.")


def _to_torch_tensor(value: Buffer) -> Buffer:
    """Return a torch tensor unchanged, and a numpy array converted to a tensor."""
    if is_torch_tensor(value):
        return value
    from tlf.support.tensor_arrays import to_tensor

    return to_tensor(value)
