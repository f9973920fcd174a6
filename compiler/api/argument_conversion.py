"""
API: checks of arguments against their declared types, and their conversion to what a
backend takes. Tensors of earlier calls that are used in place are not checked again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from tlf.compiler.backends.argument_snapshots import ArgumentSnapshot
from tlf.compiler.backends.executables import Buffer, Executable, is_torch_tensor
from tlf.runtime.known_tensors import KnownTensors

if TYPE_CHECKING:
    from tlf.support.affine.axis_orders import Order


@dataclass(frozen=True)
class ArgumentType:
    """Declared shape and dtype name of an argument."""

    shape: tuple[int, ...]
    dtype: str
    is_weight: bool = False
    """True if the argument is constant across calls."""


class ArgumentConverter:
    """Conversion of the arguments of a program, by name in order."""

    def __init__(self, names: Sequence[str], types: Sequence[ArgumentType]) -> None:
        self._names = names
        self._types = types
        self._known = KnownTensors(len(types))
        """Tensors that are used in place."""
        self._device: Any = None
        """Device of the known tensors."""
        self._copies: dict[str, tuple[ArgumentSnapshot, Buffer]] = {}
        """Copies of weights, which are kept until the weights change."""

    def forget_copies(self) -> None:
        """Copy weights again at the next call."""
        self._copies.clear()

    def convert_arguments(
        self, inputs: Mapping[str, Buffer], executable: Executable
    ) -> tuple[Mapping[str, Buffer], Any]:
        """
        Return the arguments as an executable takes them, and the torch device of the
        run, if any. Raises `TypeError` for a value of another type than declared.
        """
        values = [inputs[name] for name in self._names]
        unknown = self._known.find_unknown(values)
        for index in unknown:
            self._check_shape_and_dtype(index, values[index])
        device = self._find_device(values, unknown, executable)
        if device != self._device:
            unknown = range(len(values))
        self._device = device
        for index in unknown:
            self._known.forget(index)
            value = values[index]
            values[index] = self._convert_for_backend(index, value, executable, device)
            if values[index] is value and is_torch_tensor(value):
                self._known.remember(index, value)
        return dict(zip(self._names, values, strict=True)), device

    def _find_device(
        self, values: Sequence[Buffer], unknown: Sequence[int], executable: Executable
    ) -> Any:
        """Return the device of a run; known tensors are on that of the last one."""
        last = self._device
        if last is not None and all(
            is_torch_tensor(values[index]) and values[index].device == last
            for index in unknown
        ):
            return last
        return executable.device_for(dict(zip(self._names, values, strict=True)))

    def _check_shape_and_dtype(self, index: int, value: Buffer) -> None:
        """Raise `TypeError` if a value differs from its declared type."""
        expected, name = self._types[index], self._names[index]
        if value.shape != expected.shape:
            shape = tuple(value.shape)
            raise TypeError(
                f"argument `{name}`: expected shape {expected.shape}, got {shape}"
            )
        if (dtype := _dtype_name_of(value.dtype)) != expected.dtype:
            raise TypeError(
                f"argument `{name}`: expected {expected.dtype}, got {dtype}"
            )

    def _convert_for_backend(
        self, index: int, value: Buffer, executable: Executable, device: Any
    ) -> Buffer:
        """
        Return `value` in the form that the backend takes: as it is, as a copy in the
        layout of the program on `device`, or as a numpy array.
        """
        if not is_torch_tensor(value):
            return value
        if executable.takes_tensors:
            order = executable.axis_orders.get(self._names[index])
            ordered = value if order is None else value.permute(order)
            if ordered.is_contiguous() and device in (None, value.device):
                return value
            return self._copy_to_device(index, value, device, order)
        from tlf.support.tensor_arrays import to_array

        return to_array(value)

    def _copy_to_device(
        self, index: int, value: Buffer, device: Any, order: Order | None
    ) -> Buffer:
        """
        Return a copy on a device with its axes in `order` in memory, by default the
        row-major one. The copy of a weight is cached until the weight or the device
        changes.
        """
        device = device or value.device
        name = self._names[index]
        if not self._types[index].is_weight:
            return _copy_in_order(value, device, order)
        cached = self._copies.get(name)
        if (
            cached is None
            or cached[1].device != device
            or not cached[0].is_unchanged(value)
        ):
            copy = _copy_in_order(value, device, order)
            cached = self._copies[name] = ArgumentSnapshot(value), copy
        return cached[1]


def _copy_in_order(value: Buffer, device: Any, order: Order | None) -> Buffer:
    """Return a tensor on a device, with its axes in `order` in memory."""
    from tlf.support.tensor_strides import with_axis_order

    moved = value.detach().to(device)
    return moved.contiguous() if order is None else with_axis_order(moved, order)


@cache
def _dtype_name_of(dtype: object) -> str:
    """Return the name of a numpy or torch dtype."""
    return str(dtype).removeprefix("torch.")
