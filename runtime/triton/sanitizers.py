"""
Launch of Triton kernels in the interpreter: sanitizers for poison, bounds and races.

- *poison*: masked-off lanes of a load without `other=` become NaN, not zero, unless the
  load has a single lane.
- *bounds*: no access may be outside of the tensor arguments of the kernel.
- *races*: no program may access an element that another program of the launch writes,
  unless both access it by atomic operations.

    with sanitize():
        executable(inputs)
"""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, cast

import numpy as np

from tlf.runtime.triton.runtime_errors import KernelError

_NOBODY = -1

_SEVERAL = -2


@dataclass
class _TrackedTensor:
    """
    One argument of a launch: its address range in bytes, and the programs that accessed
    each element.
    """

    first_address: int
    end_address: int
    itemsize: int
    writer: np.ndarray
    reader: np.ndarray
    combiner: np.ndarray
    """Programs that combined each element with a value, by atomic operations."""


@dataclass
class _SanitizerState:
    is_poisoning_lanes: bool = False
    is_checking_bounds: bool = False
    is_checking_races: bool = False
    tensors: list[_TrackedTensor] = field(default_factory=list[_TrackedTensor])


_state = _SanitizerState()


@contextmanager
def sanitize(
    *, poison: bool = True, bounds: bool = True, races: bool = True
) -> Generator[None]:
    """Enable sanitizers inside of the context; a fault raises `KernelError`."""
    before = (
        _state.is_poisoning_lanes,
        _state.is_checking_bounds,
        _state.is_checking_races,
    )
    _state.is_poisoning_lanes, _state.is_checking_bounds, _state.is_checking_races = (
        poison,
        bounds,
        races,
    )
    try:
        yield
    finally:
        (
            _state.is_poisoning_lanes,
            _state.is_checking_bounds,
            _state.is_checking_races,
        ) = before


def is_poisoning() -> bool:
    """Return `True` if masked lanes without a fill value are poisoned."""
    return _state.is_poisoning_lanes


def make_poison_array(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """Return an array of values that corrupt any result: NaN, or 0x55 in each byte."""
    if dtype.kind == "b":
        return np.ones(shape, dtype)
    # The interpreter represents bits of floats as unsigned integers.
    byte = 0xFF if dtype.kind in "fu" else 0x55
    pattern = np.full((*shape, dtype.itemsize), byte, np.uint8)
    return pattern.view(dtype).reshape(shape)


def install_launch_hook() -> None:
    """
    Patch Triton's interpreter to track the tensors of each launch while checks are on.
    """
    executor: Any = import_module("triton.runtime.interpreter").GridExecutor
    initialise, call = executor._init_args_hst, executor.__call__

    def record_arguments(self: Any, arguments: Any, named: Any) -> Any:
        host_arguments, host_named = initialise(self, arguments, named)
        if _state.is_checking_bounds or _state.is_checking_races:
            values = [*host_arguments, *host_named.values()]
            _state.tensors = [
                _track_tensor(v) for v in values if hasattr(v, "data_ptr")
            ]
        return host_arguments, host_named

    def forget_tensors(self: Any, *arguments: Any, **named: Any) -> None:
        try:
            call(self, *arguments, **named)
        finally:
            _state.tensors = []

    executor._init_args_hst, executor.__call__ = record_arguments, forget_tensors


def check_load(pointers: Any, mask: Any, program: tuple[int, int, int]) -> None:
    """
    Check the addresses of the active lanes of a load.
    """
    _check_addresses(pointers, mask, program, "load", _record_read_by_program)


def check_store(pointers: Any, mask: Any, program: tuple[int, int, int]) -> None:
    """
    Check the addresses of the active lanes of a store.
    """
    _check_addresses(pointers, mask, program, "store", _record_write_by_program)


def check_atomic(pointers: Any, mask: Any, program: tuple[int, int, int]) -> None:
    """
    Check the addresses of the active lanes of an atomic operation.
    """
    _check_addresses(pointers, mask, program, "atomic", _record_combination_by_program)


def _track_tensor(value: Any) -> _TrackedTensor:
    """Return the address range of a tensor, with no access to its elements so far."""
    first, itemsize = cast(int, value.data_ptr()), cast(int, value.element_size())
    count = cast(int, value.numel())
    owners = np.full(count if _state.is_checking_races else 0, _NOBODY)
    end = first + count * itemsize
    return _TrackedTensor(first, end, itemsize, owners, owners.copy(), owners.copy())


def _check_addresses(
    pointers: Any,
    mask: Any,
    program_index: tuple[int, int, int],
    access_kind: str,
    record_access: Any,
) -> None:
    """Record the accesses of active lanes. Raises `KernelError` if out of bounds."""
    if not _state.tensors:
        return
    lanes: Any = mask if type(mask) is np.ndarray else mask.data
    shape = cast(tuple[int, ...], pointers.data.shape)
    # A condition that was a scalar has the bytes 0 and 1.
    active = pointers.data[np.broadcast_to(lanes, shape) != 0].astype(np.int64)
    outside = np.ones(active.shape, bool)
    for tensor in _state.tensors:
        inside = (active >= tensor.first_address) & (active < tensor.end_address)
        outside &= ~inside
        if _state.is_checking_races:
            elements = (active[inside] - tensor.first_address) // tensor.itemsize
            record_access(tensor, elements, program_index)
    if _state.is_checking_bounds and outside.any():
        raise KernelError(
            f"{access_kind} out of bounds in program {program_index}: "
            f"{int(outside.sum())} lanes, "
            f"the first at address {int(active[outside][0]):#x}"
        )


def _linear_program_id(program_index: tuple[int, int, int]) -> int:
    x, y, z = program_index
    return (x << 40) | (y << 20) | z


def _record_read_by_program(
    tensor: _TrackedTensor, elements: np.ndarray, program_index: tuple[int, int, int]
) -> None:
    """Record a program as reader. Raises `KernelError` if another one has written."""
    own = _linear_program_id(program_index)
    for writers in (tensor.writer, tensor.combiner):
        if _has_other_program(writers[elements], own):
            raise KernelError(
                f"program {program_index} loads what another program stores"
            )
    _add_program(tensor.reader, elements, own)


def _record_write_by_program(
    tensor: _TrackedTensor, elements: np.ndarray, program_index: tuple[int, int, int]
) -> None:
    """Record a program as writer. Raises `KernelError` if another one has accessed."""
    own = _linear_program_id(program_index)
    for writers in (tensor.writer, tensor.combiner):
        if _has_other_program(writers[elements], own):
            raise KernelError(
                f"program {program_index} stores where another program stores"
            )
    if _has_other_program(tensor.reader[elements], own):
        raise KernelError(f"program {program_index} stores what another program loads")
    tensor.writer[elements] = own


def _record_combination_by_program(
    tensor: _TrackedTensor, elements: np.ndarray, program_index: tuple[int, int, int]
) -> None:
    """
    Record a program as combiner. Raises `KernelError` if another one has accessed an
    element other than by atomic operations.
    """
    own = _linear_program_id(program_index)
    if _has_other_program(tensor.writer[elements], own):
        raise KernelError(
            f"program {program_index} combines with what another program stores"
        )
    if _has_other_program(tensor.reader[elements], own):
        raise KernelError(
            f"program {program_index} combines with what another program loads"
        )
    _add_program(tensor.combiner, elements, own)


def _has_other_program(programs: np.ndarray, own: int) -> bool:
    """Return `True` if one of the recorded programs is another one."""
    return bool(((programs != _NOBODY) & (programs != own)).any())


def _add_program(programs: np.ndarray, elements: np.ndarray, own: int) -> None:
    """Record a program at elements that several programs may access."""
    known = programs[elements]
    is_exclusive = (known == _NOBODY) | (known == own)
    programs[elements] = np.where(is_exclusive, own, _SEVERAL)
