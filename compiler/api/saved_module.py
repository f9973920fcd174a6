"""API: the call of a PyTorch module and its weights in the file of a saved program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors

from tlf.compiler.api.callable_module import CallableModule, KnownOutput, ModuleCall
from tlf.compiler.api.callable_program import CallableProgram
from tlf.compiler.api.saved_record import MODULE
from tlf.compiler.api.saved_structure import (
    SavedStructure,
    decode_structure,
    encode_structure,
)
from tlf.runtime.storage.program_archive import ArchiveError
from tlf.support.tensor_strides import with_axis_order

WEIGHTS = "weights.safetensors"
"""Member with the weights of a module."""

OUTPUTS = "outputs.safetensors"
"""Member with the outputs that are known at compile time, by index."""


@dataclass(frozen=True)
class SavedConstant:
    """A constant: `None`, a truth value, a number or a text, by its type and text."""

    type: str
    text: str = ""


@dataclass(frozen=True)
class TensorType:
    """Shape and dtype of a tensor."""

    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class SavedCall:
    """The fields of `ModuleCall` in JSON, and the types of all weights."""

    arguments: tuple[str | int, ...]
    values: tuple[int | SavedConstant, ...]
    axis_orders: tuple[tuple[int, ...] | None, ...]
    outputs: tuple[int, ...]
    mutated: dict[int, str | int]
    constants: dict[int, SavedConstant]
    in_spec: SavedStructure
    out_spec: SavedStructure
    own_constants: tuple[str, ...]
    weights: dict[str, TensorType]


_READERS: Mapping[str, Callable[[str], Any]] = {
    "NoneType": {"None": None}.__getitem__,
    "bool": {"True": True, "False": False}.__getitem__,
    "int": int,
    "float": float.fromhex,
    "str": str,
}


def encode_module(module: CallableModule, has_weights: bool) -> dict[str, bytes]:
    """
    Return the members of a module: its call, known outputs, and its weights; only its
    own constants of these unless `has_weights`. Raises `TypeError` for a call that
    cannot be saved.
    """
    call = module.call
    saved = SavedCall(
        call.arguments,
        tuple(map(_encode_value, call.values)),
        tuple(None if each is None else tuple(each) for each in call.axis_orders),
        call.outputs,
        dict(call.mutated),
        {index: _encode_constant(value) for index, value in call.constants.items()},
        encode_structure(call.in_spec),
        encode_structure(call.out_spec),
        tuple(sorted(call.own_constants)),
        {name: _type_of(tensor) for name, tensor in module.weights.items()},
    )
    members = {MODULE: msgspec.json.encode(saved)}
    known = {
        str(index): each.value
        for index, each in enumerate(call.values)
        if isinstance(each, KnownOutput) and isinstance(each.value, torch.Tensor)
    }
    if known:
        members[OUTPUTS] = _encode_tensors(known)
    members[WEIGHTS] = _encode_tensors(
        {
            name: tensor
            for name, tensor in module.weights.items()
            if has_weights or name in call.own_constants
        }
    )
    return members


def decode_module(
    program: CallableProgram,
    members: Mapping[str, bytes],
    weights: Mapping[str, torch.Tensor] | None,
) -> CallableModule:
    """
    Return a module with the given weights, by default those of the file. Raises
    `ArchiveError` if they do not fit.
    """
    try:
        saved = msgspec.json.decode(members[MODULE], type=SavedCall)
    except msgspec.MsgspecError as error:
        raise ArchiveError(f"expected a call of a module, got: {error}") from error
    weights = {**_load_tensors(members, WEIGHTS), **(weights or {})}
    _check_weights(saved.weights, weights)
    known = _load_tensors(members, OUTPUTS)
    values = [
        each if isinstance(each, int) else _decode_value(each, known.get(str(index)))
        for index, each in enumerate(saved.values)
    ]
    decoded = ModuleCall(
        saved.arguments,
        tuple(values),
        saved.axis_orders,
        saved.outputs,
        saved.mutated,
        {index: _decode_constant(each) for index, each in saved.constants.items()},
        decode_structure(saved.in_spec),
        decode_structure(saved.out_spec),
        frozenset(saved.own_constants),
    )
    device = getattr(program.executable.device_for({}), "type", "cpu")
    used = {name: weights[name].to(device) for name in saved.weights}
    return CallableModule(
        program, decoded, _restore_axis_orders(program, decoded, used)
    )


def _restore_axis_orders(
    program: CallableProgram, call: ModuleCall, weights: Mapping[str, torch.Tensor]
) -> Mapping[str, torch.Tensor]:
    """Return weights with their axes in memory as the program takes them."""
    names = dict(zip(call.arguments, program.signature.inputs, strict=True))
    orders = program.executable.axis_orders
    return {
        name: with_axis_order(tensor, orders.get(names.get(name, "")))
        for name, tensor in weights.items()
    }


def _load_tensors(
    members: Mapping[str, bytes], name: str
) -> Mapping[str, torch.Tensor]:
    """Return the tensors of a member, if there is one. Raises `ArchiveError`."""
    if (data := members.get(name)) is None:
        return {}
    try:
        return load_tensors(data)
    except SafetensorError as error:
        raise ArchiveError(f"expected tensors in {name}, got: {error}") from error


def _check_weights(
    expected: Mapping[str, TensorType], weights: Mapping[str, torch.Tensor]
) -> None:
    """Raise `ArchiveError` for the first weight that is missing or of another type."""
    for name, type_ in expected.items():
        if name not in weights:
            raise ArchiveError(f"expected a weight `{name}`, got none")
        if (got := _type_of(weights[name])) != type_:
            raise ArchiveError(
                f"weight `{name}`: expected {type_.dtype} of shape {type_.shape}, "
                f"got {got.dtype} of shape {got.shape}"
            )


def _type_of(tensor: torch.Tensor) -> TensorType:
    return TensorType(tuple(tensor.shape), str(tensor.dtype).removeprefix("torch."))


def _encode_tensors(tensors: Mapping[str, torch.Tensor]) -> bytes:
    """Return tensors as safetensors; copies, because none may share memory."""
    return save_tensors(
        {
            name: each.detach().cpu().clone(memory_format=torch.contiguous_format)
            for name, each in tensors.items()
        }
    )


def _encode_value(value: int | KnownOutput) -> int | SavedConstant:
    """Return an output of the graph in JSON."""
    if isinstance(value, int):
        return value
    if isinstance(value.value, torch.Tensor):
        return SavedConstant("Tensor")
    return _encode_constant(value.value)


def _decode_value(saved: SavedConstant, tensor: torch.Tensor | None) -> KnownOutput:
    """Return a known output; `tensor` is its value if that is a tensor."""
    if saved.type == "Tensor":
        return KnownOutput(tensor)
    return KnownOutput(_decode_constant(saved))


def _encode_constant(value: Any) -> SavedConstant:
    """Return a constant in JSON. Raises `TypeError` for other types."""
    name = type(value).__name__
    if name not in _READERS:
        expected = ", ".join(_READERS)
        raise TypeError(f"expected constants of the types {expected}, got {name}")
    return SavedConstant(name, value.hex() if name == "float" else str(value))


def _decode_constant(saved: SavedConstant) -> Any:
    """Return a constant. Raises `ArchiveError` for an unknown type."""
    if (reader := _READERS.get(saved.type)) is None:
        raise ArchiveError(f"expected a constant, got one of type {saved.type}")
    try:
        return reader(saved.text)
    except (KeyError, ValueError) as error:
        raise ArchiveError(f"expected a {saved.type}, got {saved.text}") from error
