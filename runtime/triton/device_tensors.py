"""
Launch of Triton kernels: torch tensors as device buffers, with copies and views.

No function here computes: values are allocated, copied or reinterpreted.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import cast

import numpy as np
import torch

from tlf.runtime.triton import dtypes, sanitizers
from tlf.runtime.triton.launch_plan import ARENA_ALIGNMENT, DeviceBuffer, Plan
from tlf.runtime.triton.runtime_errors import GuardError
from tlf.support.affine.axis_orders import inverse_order, row_major_order
from tlf.support.affine.dense_strides import (
    address_equally,
    strides_in_axis_order,
)

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
        return _make_poison_tensor(buffer).to(device)
    dtype = TORCH_DTYPES[buffer.dtype]
    if buffer.strides is None:
        return torch.empty(buffer.shape, dtype=dtype, device=device)
    return torch.empty_strided(buffer.shape, buffer.strides, dtype=dtype, device=device)


def _make_poison_tensor(buffer: DeviceBuffer) -> torch.Tensor:
    """Return poisoned memory on the host in the layout of `buffer`."""
    dtype = dtypes.numpy_dtype(buffer.dtype)
    poison = sanitizers.make_poison_array(tuple(buffer.shape), dtype)
    return _tensor_sharing_memory(_with_layout_of(buffer, poison), buffer.dtype)


def allocate_temporaries(
    plan: Plan, device: torch.device
) -> Mapping[str, torch.Tensor]:
    """
    Return the temporaries of a plan that are not in results, which are views of one
    arena; poisoned memory for all temporaries if masked lanes are poisoned.
    """
    if sanitizers.is_poisoning():
        return {
            each.name: allocate_device_buffer(each, device)
            for each in plan.buffers
            if each.kind == "temporary"
        }
    arena = torch.empty(plan.arena_bytes, dtype=torch.uint8, device=device)
    return {
        each.name: _view_of_arena(arena, each)
        for each in plan.buffers
        if each.kind == "temporary" and each.result is None
    }


def temporaries_in_results(plan: Plan) -> Sequence[tuple[DeviceBuffer, str]]:
    """
    Return the temporaries that share the memory of results, with the names of these;
    none if masked lanes are poisoned.
    """
    if sanitizers.is_poisoning():
        return ()
    return [(each, each.result) for each in plan.buffers if each.result is not None]


def view_temporaries_in_results(
    plan: Plan, tensors: Mapping[str, torch.Tensor]
) -> Mapping[str, torch.Tensor]:
    """Return the temporaries that results among `tensors` contain, as views of them."""
    return {
        each.name: _view_of_result(tensors[result], each)
        for each, result in temporaries_in_results(plan)
    }


def _view_of_result(tensor: torch.Tensor, buffer: DeviceBuffer) -> torch.Tensor:
    """Return the part of the memory of a dense result that a temporary occupies."""
    elements = tensor.as_strided((tensor.numel(),), (1,))
    return _view_of_arena(elements.view(torch.uint8), buffer)


def _view_of_arena(arena: torch.Tensor, buffer: DeviceBuffer) -> torch.Tensor:
    """Return the part of some bytes that a temporary occupies."""
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
    Return an input as a tensor on `device`, without a copy if it is there already. An
    array with other strides than `buffer` is copied.

    Raises `GuardError` if its dtype or shape, or the strides of a tensor, differ.
    """
    if isinstance(value, torch.Tensor):
        _check_dtype_and_shape(buffer, value)
        _check_strides(buffer, value)
        return value if value.device == device else value.detach().to(device)
    if isinstance(value, np.ndarray):
        array = cast(np.ndarray, value)
        _check_dtype_and_shape(buffer, array)
        array = _with_layout_of(buffer, array)
        return _tensor_sharing_memory(array, buffer.dtype).to(device)
    raise GuardError(
        f"argument '{buffer.name}': expected a numpy array or a torch tensor, "
        f"got {type(value).__name__}"
    )


def record_use(tensors: Iterable[torch.Tensor], stream: torch.cuda.Stream) -> None:
    """
    Let memory of tensors be reused only after the work on a stream that is enqueued
    when they are freed; they may be of other streams.
    """
    for each in tensors:
        if each.is_cuda:
            each.record_stream(stream)


def align_tensor(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor whose memory can be described: a copy if it is not aligned."""
    return tensor if tensor.data_ptr() % ARENA_ALIGNMENT == 0 else tensor.clone()


def _check_dtype_and_shape(buffer: DeviceBuffer, value: Array) -> None:
    """Raise `GuardError` unless `value` has the declared type."""
    if (dtype := _dtype_name(value)) != buffer.dtype:
        raise _make_guard_error(buffer, "dtype", buffer.dtype, dtype)
    if (shape := tuple(value.shape)) != buffer.shape:
        raise _make_guard_error(buffer, "shape", buffer.shape, shape)


def _check_strides(buffer: DeviceBuffer, value: torch.Tensor) -> None:
    """Raise `GuardError` unless elements are where those of `buffer` are."""
    if buffer.strides is None and value.is_contiguous():
        return
    order = buffer.axis_order or row_major_order(len(buffer.shape))
    expected, strides = strides_in_axis_order(buffer.shape, order), value.stride()
    if not address_equally(buffer.shape, strides, expected):
        raise _make_guard_error(buffer, "strides", expected, tuple(strides))


def _with_layout_of(buffer: DeviceBuffer, array: np.ndarray) -> np.ndarray:
    """Return an array with the strides of `buffer`, which is copied if it differs."""
    if (order := buffer.axis_order) is None:
        return array if array.flags.c_contiguous else np.ascontiguousarray(array)
    physical = np.ascontiguousarray(array.transpose(order))
    return physical.transpose(inverse_order(order))


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
    writable = array if array.flags.writeable else array.copy(order="K")
    if dtype == "bf16":
        return _from_numpy(writable.view(np.int16)).view(torch.bfloat16)
    return _from_numpy(writable)


def _dtype_name(value: Array) -> str:
    if isinstance(value, np.ndarray):
        return dtypes.plan_name_of_dtype(cast(np.dtype[np.generic], value.dtype))
    return _NAMES.get(value.dtype) or str(value.dtype)


def _make_guard_error(
    buffer: DeviceBuffer, property_name: str, expected: object, actual: object
) -> GuardError:
    return GuardError(
        f"argument '{buffer.name}': expected {property_name} {expected}, got {actual}"
    )
