"""
Launch of Triton kernels in the interpreter: repairs of Triton's CPU interpreter, so
that kernels compute the same as on a GPU.

As released, the interpreter of Triton 3.6 operates on the bit patterns of bfloat16 as
if they were integers, truncates when it rounds to bfloat16, ignores `input_precision`,
rejects those of bfloat16, lets NaN through `maxnum`, has no libdevice and no assembly,
reduces with a user's function one element at a time, splats the result of a scalar
comparison as a number, fails in loops with numpy 2.4, combines only the first element
of a broadcast atomically, and copies arguments in host memory onto themselves.
Import this module only after Triton's mode was selected (see `device_selection`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial, partialmethod
from importlib import import_module
from typing import Any, cast

import numpy as np

from tlf.runtime.triton import interpreter_bfloat16 as bfloat16
from tlf.runtime.triton import interpreter_device_math as device_math
from tlf.runtime.triton import sanitizers

_tl = import_module("triton.language")
_triton = import_module("triton.runtime.interpreter")
_Handle: Callable[..., Any] = _triton.TensorHandle
_Builder: Any = _triton.InterpreterBuilder

_TF32_BITS = np.uint32(0xFFFFE000)
"""Bits of a float32 that a tf32 multiplier reads."""

_BF16_PRECISIONS = ("bf16x3", "bf16x6")
"""Input precisions that GPUs have in addition to those of the interpreter."""


def install_interpreter_repairs() -> None:
    """Repair the interpreter of this process. Further calls have no effect."""
    if isinstance(_triton.interpreter_builder, RepairedBuilder):
        return
    # Triton has a single builder, which is referenced everywhere.
    builder = _triton.interpreter_builder
    builder.__class__ = RepairedBuilder
    precisions = (*builder.options.allowed_dot_input_precisions, *_BF16_PRECISIONS)
    builder.options = replace(builder.options, allowed_dot_input_precisions=precisions)
    patch_tensor = partial(_add_index_conversion_to_tensor, _triton._patch_lang_tensor)
    setattr(_triton, "_patch_lang_tensor", patch_tensor)
    copy_back = partialmethod(
        _copy_arguments_to_device, _triton.GridExecutor._restore_args_dev
    )
    setattr(_triton.GridExecutor, "_restore_args_dev", copy_back)
    _triton.ReduceOps.generic_reduce = _reduce_by_halves
    _triton.ReduceOps.sum = _reduce_sum
    sanitizers.install_launch_hook()
    libdevice = import_module("triton.language.extra.libdevice")
    for name, function in device_math.FUNCTIONS.items():
        setattr(libdevice, name, partial(_call_device_function, function))
    setattr(_tl, "inline_asm_elementwise", _run_inline_assembly)
    cuda = _tl.extra.cuda  # not the module of that name, but a copy
    for name in ("gdc_wait", "gdc_launch_dependents"):
        setattr(cuda, name, _ignore_dependency)


def _ignore_dependency(_semantic: Any = None) -> None:
    """Do nothing for a dependent launch: kernels run one after the other."""


def _is_bfloat16(handle: Any) -> bool:
    is_pointer = isinstance(handle.dtype, _tl.pointer_type)
    return not is_pointer and handle.get_element_ty() == _tl.bfloat16


def _decode_values(handle: Any) -> np.ndarray:
    """Return the values of a handle: bfloat16 as float32, all others unchanged."""
    return (
        bfloat16.decode_bfloat16(handle.data) if _is_bfloat16(handle) else handle.data
    )


def _make_interpreter_handle(values: np.ndarray, element_type: Any) -> Any:
    """Return a handle of values; booleans of a comparison are not converted."""
    if values.dtype == np.bool_ and element_type != _tl.int1:
        return _Handle(values, element_type)
    if element_type == _tl.bfloat16:
        return _Handle(bfloat16.encode_bfloat16(values), element_type)
    return _Handle(values.astype(_triton._get_np_dtype(element_type)), element_type)


class RepairedBuilder(_Builder):
    """The interpreter's builder, which executes one operation on whole blocks."""

    def get_bf16(self, value: float) -> Any:
        return _make_interpreter_handle(np.array([value], np.float32), _tl.bfloat16)

    def binary_op(self, lhs: Any, rhs: Any, op: Callable[..., np.ndarray]) -> Any:
        """Apply `op` to bfloat16 in float32; Triton handles all other types."""
        if not _is_bfloat16(lhs):
            return _Builder.binary_op(self, lhs, rhs, op)
        return _make_interpreter_handle(
            op(_decode_values(lhs), _decode_values(rhs)), _tl.bfloat16
        )

    def unary_op(self, arg: Any, op: Callable[..., np.ndarray]) -> Any:
        if not _is_bfloat16(arg):
            return _Builder.unary_op(self, arg, op)
        return _make_interpreter_handle(op(_decode_values(arg)), _tl.bfloat16)

    def ternary_op(
        self, lhs: Any, rhs: Any, other: Any, op: Callable[..., np.ndarray]
    ) -> Any:
        """Apply `op` to bfloat16 in float32; Triton handles other types and `where`."""
        if op is np.where or not _is_bfloat16(other):
            return _Builder.ternary_op(self, lhs, rhs, other, op)
        values = op(_decode_values(lhs), _decode_values(rhs), _decode_values(other))
        return _make_interpreter_handle(values, _tl.bfloat16)

    def create_fma(self, x: Any, y: Any, z: Any) -> Any:
        values = device_math.multiply_add(*map(_decode_values, (x, y, z)))
        return _make_interpreter_handle(values, z.dtype.scalar)

    def create_splat(self, ret_ty: Any, arg: Any) -> Any:
        # The handle of a comparison has the type of its operands.
        if arg.data.dtype != np.bool_:
            return _Builder.create_splat(self, ret_ty, arg)
        return _Handle(np.full(ret_ty.shape, arg.data.item()), _tl.int1)

    def create_maxnumf(self, lhs: Any, rhs: Any) -> Any:
        return self.binary_op(lhs, rhs, np.fmax)

    def create_minnumf(self, lhs: Any, rhs: Any) -> Any:
        return self.binary_op(lhs, rhs, np.fmin)

    def create_erf(self, arg: Any) -> Any:
        return self.unary_op(arg, device_math.erf)

    def cast_impl(self, src: Any, dst_type: Any) -> Any:
        """Cast bfloat16 by its values, not its bits; Triton handles all other types."""
        source, target = src.dtype.scalar, dst_type.scalar
        if _tl.bfloat16 not in (source, target):
            return _Builder.cast_impl(self, src, dst_type)
        return _make_interpreter_handle(_decode_values(src), target)

    def create_fp_to_fp(self, src: Any, dst_type: Any, rounding_mode: Any) -> Any:
        if str(rounding_mode) != str(_triton._ir.ROUNDING_MODE.RTNE):
            return _Builder.create_fp_to_fp(self, src, dst_type, rounding_mode)
        return _make_interpreter_handle(_decode_values(src), dst_type.scalar)

    def create_dot(
        self, a: Any, b: Any, d: Any, input_precision: Any, max_num_imprecise_acc: Any
    ) -> Any:
        """Return `a @ b + d`, with factors truncated if `input_precision` is TF32."""
        accumulator = d.data
        truncate = str(input_precision).endswith(".TF32")
        factors = [
            _decode_dot_operand(handle, accumulator.dtype, truncate=truncate)
            for handle in (a, b)
        ]
        return _Handle(np.matmul(*factors) + accumulator, d.dtype.scalar)

    def create_masked_load(
        self, ptrs: Any, mask: Any, other: Any, *options: Any, **named: Any
    ) -> Any:
        """
        Check the addresses and load; masked lanes without `other` may be poisoned.
        """
        sanitizers.check_load(ptrs, mask, self.grid_idx)
        # Triton drops a fill value that is a single zero, as if there were none.
        if other is None and ptrs.data.size > 1 and sanitizers.is_poisoning():
            element_type = ptrs.get_element_ty()
            dtype = _triton._get_np_dtype(element_type)
            other = _Handle(
                sanitizers.make_poison_array(ptrs.data.shape, dtype), element_type
            )
        return _Builder.create_masked_load(self, ptrs, mask, other, *options, **named)

    def create_masked_store(
        self, ptrs: Any, value: Any, mask: Any, *options: Any
    ) -> Any:
        sanitizers.check_store(ptrs, mask, self.grid_idx)
        return _Builder.create_masked_store(self, ptrs, value, mask, *options)

    def create_atomic_rmw(
        self, operation: Any, ptr: Any, val: Any, mask: Any, sem: Any, scope: Any
    ) -> Any:
        """Check the addresses and combine; the interpreter ignores broadcasts."""
        sanitizers.check_atomic(ptr, mask, self.grid_idx)
        dense = (_to_dense_handle(each) for each in (ptr, val, mask))
        return _Builder.create_atomic_rmw(self, operation, *dense, sem, scope)


def _to_dense_handle(handle: Any) -> Any:
    """Return a handle whose values are contiguous, with a copy for each repetition."""
    return _Handle(np.asarray(handle.data, order="C"), handle.dtype)


def _decode_dot_operand(
    handle: Any, dtype: np.dtype[Any], *, truncate: bool
) -> np.ndarray:
    """Return the values in `dtype`; `truncate` clears the float32 bits below TF32."""
    values = _decode_values(handle)
    if truncate and values.dtype == np.float32:
        bits = np.ascontiguousarray(values).view(np.uint32) & _TF32_BITS
        values = cast(np.ndarray, bits.view(np.float32))
    return values.astype(dtype)


def _add_index_conversion_to_tensor(
    original: Callable[..., None], tensor: Any, scope: Any
) -> None:
    original(tensor, scope)
    scope.set_attr(tensor, "__index__", _to_index)


def _to_index(tensor: Any) -> int:
    return int(tensor.handle.data.item())


def _copy_arguments_to_device(
    self: Any,
    original: Callable[..., None],
    arguments: Sequence[Any],
    copies: Sequence[Any],
    keyword_arguments: Mapping[str, Any],
    keyword_copies: Mapping[str, Any],
) -> None:
    """
    Copy arguments back to their device after a launch, except for host tensors, on
    which the kernel operated in place: a copy of a tensor onto itself would touch all
    of its memory.
    """
    copied = [
        (argument, copy)
        for argument, copy in zip(arguments, copies, strict=True)
        if hasattr(argument, "data_ptr") and argument.data_ptr() != copy.data_ptr()
    ]
    devices = [argument for argument, _ in copied]
    original(
        self, devices, [copy for _, copy in copied], keyword_arguments, keyword_copies
    )


def _reduce_sum(self: Any, operand: Any) -> Any:
    """
    Return the sum along `self.axis`; bfloat16 is summed in float32 and rounded once.
    """
    values = _decode_values(operand.handle)
    total = np.sum(values, axis=self.axis, keepdims=self.keep_dims)
    if operand.dtype == _tl.bfloat16:
        total = bfloat16.encode_bfloat16(total)
    return self.to_tensor(total, operand.dtype)


def _reduce_by_halves(self: Any, operands: tuple[Any, ...]) -> list[Any]:
    """Reduce with any combine function like a GPU: combine halves, as whole blocks."""
    axis = 0 if self.axis is None else self.axis
    blocks = [
        operand.handle.data.reshape(-1) if self.axis is None else operand.handle.data
        for operand in operands
    ]
    types = [operand.dtype for operand in operands]
    while (extent := blocks[0].shape[axis]) > 1:
        half = extent // 2
        first, second, rest = (
            [np.take(block, range(*ends), axis=axis) for block in blocks]
            for ends in ((0, half), (half, 2 * half), (2 * half, extent))
        )
        pairs = [
            self.to_tensor(block, type_)
            for block, type_ in zip(first + second, types * 2, strict=True)
        ]
        results: Any = self.combine_fn.fn(*pairs)
        if len(blocks) == 1:
            results = (results,)
        blocks = [
            np.concatenate([result.handle.data, tail], axis=axis)
            for result, tail in zip(results, rest, strict=True)
        ]
    if not self.keep_dims:
        blocks = [np.take(block, 0, axis=axis) for block in blocks]
    elif self.axis is None:
        rank = operands[0].handle.data.ndim
        blocks = [block.reshape((1,) * rank) for block in blocks]
    return [
        self.to_tensor(block, type_) for block, type_ in zip(blocks, types, strict=True)
    ]


def _call_device_function(
    function: Callable[..., np.ndarray],
    *arguments: Any,
    dtype: Any = None,
    _semantic: Any = None,
) -> Any:
    """Apply a numpy `function` to blocks and scalars, and return a Triton tensor."""
    to_tensor = _triton.interpreter_semantic.to_tensor
    operands = [to_tensor(argument) for argument in arguments]
    values = function(*(_decode_values(operand.handle) for operand in operands))
    scalar = operands[0].type.scalar if dtype is None else dtype
    # The array of a scalar has one element.
    is_block = any(operand.type.is_block() for operand in operands)
    type_ = _tl.block_type(scalar, list(values.shape)) if is_block else scalar
    return _tl.tensor(_make_interpreter_handle(values, scalar), type_)


def _run_inline_assembly(
    text: str,
    constraints: str,
    arguments: Sequence[Any],
    dtype: Any,
    is_pure: bool,
    pack: int,
) -> Any:
    instructions = device_math.INSTRUCTIONS.items()
    function = next(function for name, function in instructions if name in text)
    return _call_device_function(function, *arguments, dtype=dtype)
