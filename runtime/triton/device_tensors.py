"""
Launch of Triton kernels: torch tensors as device buffers, with copies and views.

No function here computes: values are allocated, copied or reinterpreted.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import cast

import numpy as np
import torch

from tlf.runtime.triton import dtypes, sanitizers
from tlf.runtime.triton.launch_plan import DeviceBuffer, Plan
from tlf.runtime.triton.runtime_errors import GuardError

TORCH_DTYPES = {
    "bf16": torch.bfloat16,
    "f16": torch.float16,
    "f32": torch.float32,
    "f64": torch.float64,
    "i1": torch.bool,
    "i8": torch.int8,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
}
"""Types of elements by their names in plans."""

_NAMES = {dtype: name for name, dtype in TORCH_DTYPES.items()}

_from_numpy = cast(Callable[[np.ndarray], torch.Tensor], getattr(torch, "from_numpy"))

Array = np.ndarray | torch.Tensor
"""An array passed in by a caller or returned."""


def allocate_device_buffer(buffer: DeviceBuffer, device: torch.device) -> torch.Tensor:
    """
    Return uninitialized memory for `buffer`; poisoned memory if masked lanes are
    poisoned.
    """
    if sanitizers.is_poisoning():
        dtype = dtypes.numpy_dtype(buffer.dtype)
        poison = sanitizers.make_poison_array(tuple(buffer.shape), dtype)
        return _tensor_sharing_memory(poison, buffer.dtype).to(device)
    return torch.empty(buffer.shape, dtype=TORCH_DTYPES[buffer.dtype], device=device)


def allocate_temporaries(
    plan: Plan, device: torch.device
) -> Mapping[str, torch.Tensor]:
    """
    Return the temporaries of a plan, which are views of one arena; poisoned memory for
    each if masked lanes are poisoned.
    """
    temporaries = [each for each in plan.buffers if each.kind == "temporary"]
    if sanitizers.is_poisoning():
        return {each.name: allocate_device_buffer(each, device) for each in temporaries}
    arena = torch.empty(plan.arena_bytes, dtype=torch.uint8, device=device)
    return {each.name: _view_of_arena(arena, each) for each in temporaries}


def _view_of_arena(arena: torch.Tensor, buffer: DeviceBuffer) -> torch.Tensor:
    """Return the part of an arena that a temporary occupies."""
    part = arena[buffer.offset : buffer.offset + buffer.nbytes]
    return part.view(TORCH_DTYPES[buffer.dtype]).view(buffer.shape)


def common_device(
    devices: Sequence[torch.device], default_device: torch.device
) -> torch.device:
    """
    Return the only device of the type of `default_device`, or `default_device` if there
    is none. Raises `GuardError` if there are several.
    """
    matching = {each for each in devices if each.type == default_device.type}
    if len(matching) > 1:
        listed = ", ".join(sorted(map(str, matching)))
        raise GuardError(f"expected tensors on one device, got {listed}")
    return matching.pop() if matching else default_device


def upload_constant(buffer: DeviceBuffer, device: torch.device) -> torch.Tensor:
    """Return the elements of a constant buffer on `device`."""
    dtype = dtypes.numpy_dtype(buffer.dtype)
    array = np.frombuffer(bytearray(buffer.data), dtype=dtype).reshape(buffer.shape)
    return _tensor_sharing_memory(array, buffer.dtype).to(device)


def upload_argument(
    buffer: DeviceBuffer, value: object, device: torch.device
) -> torch.Tensor:
    """
    Return an input as a tensor on `device`, without a copy if it is there already.

    Raises `GuardError` if its dtype, shape or layout differs from `buffer`.
    """
    if isinstance(value, torch.Tensor):
        _check_argument_matches_buffer(buffer, value)
        return value if value.device == device else value.detach().to(device)
    if isinstance(value, np.ndarray):
        array = cast(np.ndarray, value)
        _check_argument_matches_buffer(buffer, array)
        return _tensor_sharing_memory(array, buffer.dtype).to(device)
    raise GuardError(
        f"argument '{buffer.name}': expected a numpy array or a torch tensor, "
        f"got {type(value).__name__}"
    )


def _check_argument_matches_buffer(buffer: DeviceBuffer, value: Array) -> None:
    """Raise `GuardError` unless `value` is contiguous and of the declared type."""
    if (dtype := _dtype_name(value)) != buffer.dtype:
        raise _make_guard_error(buffer, "dtype", buffer.dtype, dtype)
    if (shape := tuple(value.shape)) != buffer.shape:
        raise _make_guard_error(buffer, "shape", buffer.shape, shape)
    if not _is_contiguous(value):
        raise _make_guard_error(
            buffer, "layout", "contiguous", f"strides {_strides_of_array(value)}"
        )


def to_numpy(tensor: torch.Tensor, dtype: str) -> np.ndarray:
    """
    Return a numpy array with the elements of `tensor`, sharing its memory on the CPU.
    """
    host = tensor.cpu()
    if dtype == "bf16":
        return host.view(torch.int16).numpy().view(dtypes.numpy_dtype("bf16"))
    return host.numpy()


def _tensor_sharing_memory(array: np.ndarray, dtype: str) -> torch.Tensor:
    """Return a tensor on the memory of `array`, which is copied only if read-only."""
    writable = array if array.flags.writeable else array.copy()
    if dtype == "bf16":
        return _from_numpy(writable.view(np.int16)).view(torch.bfloat16)
    return _from_numpy(writable)


def _dtype_name(value: Array) -> str:
    if isinstance(value, np.ndarray):
        return dtypes.plan_name_of_dtype(cast(np.dtype[np.generic], value.dtype))
    return _NAMES.get(value.dtype) or str(value.dtype)


def _is_contiguous(value: Array) -> bool:
    if isinstance(value, torch.Tensor):
        return value.is_contiguous()
    return value.flags.c_contiguous or math.prod(value.shape) == 0


def _strides_of_array(value: Array) -> tuple[int, ...]:
    return value.strides if isinstance(value, np.ndarray) else tuple(value.stride())


def _make_guard_error(
    buffer: DeviceBuffer, property_name: str, expected: object, actual: object
) -> GuardError:
    return GuardError(
        f"argument '{buffer.name}': expected {property_name} {expected}, got {actual}"
    )
