"""
API: checks of arguments against their declared types, and their conversion to what a
backend takes. Tensors of earlier calls that are used in place are not checked again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

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

    @property
    def byte_count(self) -> int:
        """Bytes of the elements."""
        width = np.dtype(getattr(ml_dtypes, self.dtype, self.dtype)).itemsize
        return math.prod(self.shape) * width


def make_selector(keys: Sequence[Any]) -> Callable[[Any], tuple[Buffer, ...]]:
    """Return a function from a mapping or a sequence to its values for some keys."""
    if len(keys) > 1:
        return itemgetter(*keys)
    return lambda values: tuple(values[key] for key in keys)


class InputConverter:
    """
    Conversion of the arguments that differ between calls, for an executable on one
    device.
    """

    def __init__(
        self,
        types: Mapping[str, ArgumentType],
        executable: Executable,
        device: Any,
        fixed: Mapping[str, Buffer],
    ) -> None:
        """`fixed` are the other arguments, by which the device is chosen, too."""
        self._types = types
        self._executable = executable
        self._device = device
        self._anchors = _find_anchors(fixed, device)
        self._known = KnownTensors(len(types))
        """Tensors that are used in place."""

    def convert_arguments(
        self, values: Sequence[Buffer]
    ) -> Mapping[str, Buffer] | None:
        """
        Return arguments in order as the executable takes them, by name; `None` if they
        are of a run on another device. Raises `TypeError` for a value of another type
        than declared.
        """
        unknown = self._known.find_unknown(values)
        by_name = dict(zip(self._types, values, strict=True))
        if not unknown:
            return by_name
        if not self._accepts_unknown(by_name, values, unknown):
            return None
        for index, name in enumerate(self._types):
            if index not in unknown:
                continue
            self._known.forget(index)
            value = values[index]
            converted = convert_argument(name, value, self._executable, self._device)
            if converted is value and is_torch_tensor(value):
                self._known.remember(index, value)
            by_name[name] = converted
        return by_name

    def _accepts_unknown(
        self,
        by_name: Mapping[str, Buffer],
        values: Sequence[Buffer],
        unknown: Sequence[int],
    ) -> bool:
        """Return `True` if new values are of a run on the device. May raise errors."""
        check_argument_types(self._types, by_name)
        if all(
            is_torch_tensor(values[index]) and values[index].device == self._device
            for index in unknown
        ):
            return True
        named = {**self._anchors, **by_name}
        return self._executable.device_for(named) == self._device


def _find_anchors(fixed: Mapping[str, Buffer], device: Any) -> Mapping[str, Buffer]:
    """Return an empty tensor on a device if an argument is there, by its name."""
    for name, value in fixed.items():
        if is_torch_tensor(value) and value.device == device:
            return {name: value.new_empty(0)}
    return {}


def check_argument_types(
    types: Mapping[str, ArgumentType], values: Mapping[str, Buffer]
) -> None:
    """Raise `TypeError` if a value differs from its declared type."""
    for name, expected in types.items():
        value = values[name]
        if value.shape != expected.shape:
            shape = tuple(value.shape)
            raise TypeError(
                f"argument `{name}`: expected shape {expected.shape}, got {shape}"
            )
        if (dtype := _dtype_name_of(value.dtype)) != expected.dtype:
            raise TypeError(
                f"argument `{name}`: expected {expected.dtype}, got {dtype}"
            )


def convert_argument(
    name: str, value: Buffer, executable: Executable, device: Any
) -> Buffer:
    """
    Return a value in the form that an executable takes: as it is, as a copy in the
    layout of the program on `device`, or as a numpy array.
    """
    if not is_torch_tensor(value):
        return value
    if executable.takes_tensors:
        order = executable.axis_orders.get(name)
        ordered = value if order is None else value.permute(order)
        if ordered.is_contiguous() and device in (None, value.device):
            return value
        return _copy_in_order(value, device or value.device, order)
    from tlf.support.tensor_arrays import to_array

    return to_array(value)


def _copy_in_order(value: Buffer, device: Any, order: Order | None) -> Buffer:
    """Return a tensor on a device, with its axes in `order` in memory."""
    from tlf.support.tensor_strides import with_axis_order

    moved = value.detach().to(device)
    return moved.contiguous() if order is None else with_axis_order(moved, order)


@cache
def _dtype_name_of(dtype: object) -> str:
    """Return the name of a numpy or torch dtype."""
    return str(dtype).removeprefix("torch.")
