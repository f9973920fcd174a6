"""
API: callable PyTorch modules, with the call signature of the original. Needs neither IR
nor the compiler.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

from tlf.compiler.api.callable_program import CallableProgram
from tlf.compiler.backends.device_memory import DeviceMemory
from tlf.support.tensor_strides import with_axis_order


@dataclass(frozen=True)
class KnownOutput:
    """Output that is known at compile time: a number, `None`, or a tensor."""

    value: Any

    def copy_value(self) -> Any:
        """Return the value; tensors are cloned, as callers may modify them."""
        value = self.value
        return value.clone() if isinstance(value, torch.Tensor) else value


@dataclass(frozen=True)
class ModuleCall:
    """Mapping of a call of a module to the arguments and results of its function."""

    arguments: tuple[str | int, ...]
    """
    For each argument of the function: the name of a weight, or the index of an input.
    """
    values: tuple[int | KnownOutput, ...]
    """For each output of the graph: the index of a result, or a known value."""
    axis_orders: tuple[Sequence[int] | None, ...]
    """For each result its axes in memory order; `None` for row-major order."""
    outputs: tuple[int, ...]
    """Indices of the graph's outputs that are outputs of the module."""
    mutated: Mapping[int, str | int]
    """Outputs of the graph that replace a buffer, or the input with an index."""
    constants: Mapping[int, Any]
    """Inputs other than tensors, by index; the program is specialized for them."""
    in_spec: pytree.TreeSpec
    out_spec: pytree.TreeSpec
    own_constants: frozenset[str] = frozenset()
    """Weights that are not in the state dictionary of the module."""


class CallableModule:
    """
    A compiled module with the call signature of the original. Buffers that the module
    updates, such as running statistics, are updated in `weights`.
    """

    def __init__(
        self,
        program: CallableProgram,
        call: ModuleCall,
        weights: Mapping[str, torch.Tensor],
    ) -> None:
        self.program = program
        self.call = call
        self.weights = dict(weights)
        self._tensors = [each for each in call.arguments if isinstance(each, int)]
        self._takes_flat_tensors = not call.constants and _is_flat(call.in_spec)
        self._returns_single = call.out_spec == pytree.tree_flatten(0)[1]

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Run the module on tensors."""
        leaves = self._flatten_arguments(arguments, options)
        values = [
            self.weights[source] if isinstance(source, str) else leaves[source]
            for source in self.call.arguments
        ]
        results = self.program.run_ordered(values, True)
        graph_outputs = [
            with_axis_order(results[value], self.call.axis_orders[value])
            if isinstance(value, int)
            else value.copy_value()
            for value in self.call.values
        ]
        for position, source in self.call.mutated.items():
            if isinstance(source, str):
                self.weights[source] = graph_outputs[position]
            else:
                leaves[source].copy_(graph_outputs[position])
        outputs = [graph_outputs[position] for position in self.call.outputs]
        if self._returns_single:
            return outputs[0]
        return pytree.tree_unflatten(outputs, self.call.out_spec)

    def release_weights(self) -> None:
        """Empty weights that are not used, see `CallableProgram.release_weights`."""
        self.program.release_weights()

    def use_cuda_graphs(self, is_allowed: bool) -> None:
        """Allow or forbid CUDA graphs, see `CallableProgram.use_cuda_graphs`."""
        self.program.use_cuda_graphs(is_allowed)

    def _flatten_arguments(
        self, arguments: Sequence[Any], options: Mapping[str, Any]
    ) -> list[Any]:
        """
        Return the leaves of a call. Raises `TypeError` if its structure, or the type of
        a tensor or value of a constant, differs from the compiled call.
        """
        leaves = self._find_leaves(arguments, options)
        for index in self._tensors:
            if not isinstance(leaves[index], torch.Tensor):
                kind = type(leaves[index]).__name__
                raise TypeError(f"input {index}: expected a tensor, got {kind}")
            if leaves[index].is_meta:
                raise TypeError(f"input {index}: expected data, got a meta tensor")
        for index, expected in self.call.constants.items():
            if not _is_same_constant(leaves[index], expected):
                raise TypeError(
                    f"input {index}: expected {expected}, got {leaves[index]}"
                )
        return leaves

    def _find_leaves(
        self, arguments: Sequence[Any], options: Mapping[str, Any]
    ) -> list[Any]:
        """
        Return the leaves of a call, which are its arguments if all are tensors. Raises
        `TypeError` if its structure differs from that of the compiled call.
        """
        if self._takes_flat_tensors and not options:
            is_flat = all(isinstance(each, torch.Tensor) for each in arguments)
            if is_flat and len(arguments) == self.call.in_spec.num_leaves:
                return [*arguments]
        leaves, spec = pytree.tree_flatten((tuple(arguments), dict(options)))
        if spec != self.call.in_spec:
            expected, got = map(_format_call_signature, (self.call.in_spec, spec))
            raise TypeError(f"expected a call like {expected}, got {got}")
        return leaves

    @property
    def memory(self) -> DeviceMemory | None:
        """Memory of a GPU that the program uses, see `CallableProgram.memory`."""
        return self.program.memory

    @property
    def stats(self) -> Mapping[str, float]:
        """Statistics of the cost, see `CallableProgram.stats`."""
        return self.program.stats

    @property
    def stages(self) -> tuple[str, ...]:
        """Valid arguments of `ir`."""
        return self.program.stages


def _is_flat(spec: pytree.TreeSpec) -> bool:
    """Return `True` if a call has only positional arguments, without structure."""
    return spec == pytree.tree_flatten(((0,) * spec.num_leaves, {}))[1]


def _format_call_signature(spec: pytree.TreeSpec) -> str:
    """Return a call with arguments of some structure, as in `(*, {'a': *}, b=*)`."""
    leaves = [_LeafMarker()] * spec.num_leaves
    arguments, options = pytree.tree_unflatten(leaves, spec)
    keywords = (f"{name}={value}" for name, value in options.items())
    return f"({', '.join((*map(str, arguments), *keywords))})"


class _LeafMarker:
    """Placeholder of an argument in messages."""

    def __repr__(self) -> str:
        return "*"


def _is_same_constant(value: object, compiled_value: object) -> bool:
    """Return `True` if an input that is not a tensor equals the one compiled for."""
    return type(value) is type(compiled_value) and value == compiled_value
