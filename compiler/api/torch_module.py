"""Compiled modules of PyTorch, called as the modules are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from tlf.compiler.api.compiled_program import CompiledProgram
from tlf.dialects.target import TargetSpec
from tlf.frontend.torch.export import ImportedProgram, from_torch
from tlf.frontend.torch.graph_import import result_orders
from tlf.frontend.torch.memory_order import with_axis_order
from tlf.runtime.triton.device_selection import choose_mode


class CompiledModule:
    """
    A compiled module, called as the module is. Buffers that the module updates, such as
    running statistics, are updated in `weights`.
    """

    def __init__(
        self,
        imported: ImportedProgram,
        target: str | TargetSpec,
        check_indices: bool = False,
    ) -> None:
        self.imported = imported
        self.program = CompiledProgram(
            imported.module, target, check_indices=check_indices
        )
        self.weights = dict(imported.weights)
        self._orders = result_orders(imported.function)
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
        places = self.imported.function.outputs
        found = [
            with_axis_order(results[place], self._orders[place])
            if isinstance(place, int)
            else place.copy_value()
            for place in places
        ]
        for position, source in self.imported.mutated.items():
            if isinstance(source, str):
                self.weights[source] = found[position]
            else:
                leaves[source].copy_(found[position])
        outputs = [found[position] for position in self.imported.outputs]
        return pytree.tree_unflatten(outputs, self.imported.out_spec)

    def _flatten_arguments(
        self, arguments: Sequence[Any], options: Mapping[str, Any]
    ) -> list[Any]:
        leaves, spec = pytree.tree_flatten((tuple(arguments), dict(options)))
        if spec != self.imported.in_spec:
            wanted, got = map(_format_call, (self.imported.in_spec, spec))
            raise TypeError(f"expected a call like {wanted}, got {got}")
        for number in self._tensors:
            if not isinstance(leaves[number], torch.Tensor):
                kind = type(leaves[number]).__name__
                raise TypeError(f"input {number}: expected a tensor, got a {kind}")
        for number, wanted in self.imported.constants.items():
            if not _is_same_constant(leaves[number], wanted):
                raise TypeError(
                    f"input {number}: expected {wanted}, got {leaves[number]}"
                )
        return leaves

    @property
    def stats(self) -> Mapping[str, float]:
        """Statistics of the cost, see `CompiledProgram.stats`."""
        return self.program.stats

    @property
    def stages(self) -> tuple[str, ...]:
        """The names that `ir` takes, see `CompiledProgram.stages`."""
        return self.program.stages

    def ir(self, stage: str = "input") -> str:
        """The program at a stage, see `CompiledProgram.ir`."""
        return self.program.ir(stage)

    def explain(self) -> str:
        """Return a description of the groups, see `CompiledProgram.explain`."""
        return self.program.explain()


def _format_call(spec: pytree.TreeSpec) -> str:
    """A call with arguments of some structure, as in `(*, {'a': *}, b=*)`."""
    leaves = [_LeafMarker()] * spec.num_leaves
    arguments, options = pytree.tree_unflatten(leaves, spec)
    named = (f"{name}={value}" for name, value in options.items())
    return f"({', '.join((*map(str, arguments), *named))})"


class _LeafMarker:
    """An argument, whatever it is."""

    def __repr__(self) -> str:
        return "*"


def _is_same_constant(value: object, wanted: object) -> bool:
    """
    Return `True` if an input that is not a tensor is the one that was compiled for.
    """
    return type(value) is type(wanted) and value == wanted


def compile_module(
    module: torch.nn.Module,
    inputs: Sequence[Any],
    options: Mapping[str, Any] | None = None,
    target: str | TargetSpec = "reference",
    check_indices: bool = False,
) -> CompiledModule:
    """Import a module for example inputs, and compile it."""
    choose_mode()
    return CompiledModule(from_torch(module, inputs, options), target, check_indices)
