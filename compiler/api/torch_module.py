"""API: compiled PyTorch modules, with the call signature of the original."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from tlf.compiler.api.compiled_program import CompiledProgram
from tlf.dialects.target import TargetSpec
from tlf.frontend.torch.export import ImportedProgram, from_torch
from tlf.frontend.torch.graph_import import result_axis_orders_of
from tlf.frontend.torch.import_errors import ImportFailure
from tlf.runtime.triton.device_selection import choose_interpreter_mode
from tlf.support.tensor_strides import with_axis_order


class CompiledModule:
    """
    A compiled module with the call signature of the original. Buffers that the module
    updates, such as running statistics, are updated in `weights`.
    """

    def __init__(
        self,
        imported: ImportedProgram,
        target: str | TargetSpec,
        check_indices: bool = False,
        cache: bool = True,
    ) -> None:
        self.imported = imported
        self.program = CompiledProgram(
            imported.module, target, check_indices=check_indices, cache=cache
        )
        self.weights = dict(imported.weights)
        self._orders = result_axis_orders_of(imported.function)
        self._tensors = [each for each in imported.arguments if isinstance(each, int)]

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Run the module on tensors."""
        leaves = self._flatten_arguments(arguments, options)
        values = [
            self.weights[source] if isinstance(source, str) else leaves[source]
            for source in self.imported.arguments
        ]
        names = self.program.signature.inputs
        results = self.program.run(dict(zip(names, values, strict=True)), True)
        output_sources = self.imported.function.outputs
        function_outputs = [
            with_axis_order(results[output_source], self._orders[output_source])
            if isinstance(output_source, int)
            else output_source.copy_value()
            for output_source in output_sources
        ]
        for position, source in self.imported.mutated.items():
            if isinstance(source, str):
                self.weights[source] = function_outputs[position]
            else:
                leaves[source].copy_(function_outputs[position])
        outputs = [function_outputs[position] for position in self.imported.outputs]
        return pytree.tree_unflatten(outputs, self.imported.out_spec)

    def _flatten_arguments(
        self, arguments: Sequence[Any], options: Mapping[str, Any]
    ) -> list[Any]:
        """
        Return the leaves of a call. Raises `TypeError` if its structure, or the type of
        a tensor or value of a constant, differs from the compiled call.
        """
        leaves, spec = pytree.tree_flatten((tuple(arguments), dict(options)))
        if spec != self.imported.in_spec:
            expected, got = map(_format_call_signature, (self.imported.in_spec, spec))
            raise TypeError(f"expected a call like {expected}, got {got}")
        for index in self._tensors:
            if not isinstance(leaves[index], torch.Tensor):
                kind = type(leaves[index]).__name__
                raise TypeError(f"input {index}: expected a tensor, got {kind}")
            if leaves[index].is_meta:
                raise TypeError(f"input {index}: expected data, got a meta tensor")
        for index, expected in self.imported.constants.items():
            if not _is_same_constant(leaves[index], expected):
                raise TypeError(
                    f"input {index}: expected {expected}, got {leaves[index]}"
                )
        return leaves

    @property
    def stats(self) -> Mapping[str, float]:
        """Statistics of the cost, see `CompiledProgram.stats`."""
        return self.program.stats

    @property
    def stages(self) -> tuple[str, ...]:
        """Valid arguments of `ir`, see `CompiledProgram.stages`."""
        return self.program.stages

    def ir(self, stage: str = "input") -> str:
        """Return the program at a stage, see `CompiledProgram.ir`."""
        return self.program.ir(stage)

    def explain(self) -> str:
        """Return a description of the groups, see `CompiledProgram.explain`."""
        return self.program.explain()


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


def compile_module(
    module: torch.nn.Module,
    inputs: Sequence[Any],
    options: Mapping[str, Any] | None = None,
    target: str | TargetSpec = "reference",
    check_indices: bool = False,
    cache: bool = True,
) -> CompiledModule:
    """Import a module for example inputs, and compile it."""
    _reject_meta_tensors(module)
    choose_interpreter_mode()
    imported = from_torch(module, inputs, options)
    return CompiledModule(imported, target, check_indices, cache)


def _reject_meta_tensors(module: torch.nn.Module) -> None:
    """Raise `ImportFailure` for the first parameter or buffer without data."""
    for name, tensor in (*module.named_parameters(), *module.named_buffers()):
        if tensor.is_meta:
            raise ImportFailure(f"`{name}`: expected data, got a meta tensor")
