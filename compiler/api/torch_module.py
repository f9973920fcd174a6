"""API: PyTorch modules that are compiled in this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from tlf.compiler.api.callable_module import CallableModule, KnownOutput, ModuleCall
from tlf.compiler.api.compiled_program import CompiledProgram
from tlf.compiler.backends.backends import takes_tensors_in_place
from tlf.compiler.driver.diagnostics import locate_errors
from tlf.dialects.target import TargetSpec
from tlf.frontend.torch.export import ImportedProgram, from_torch
from tlf.frontend.torch.f32_precision import F32PrecisionOption
from tlf.frontend.torch.graph_import import result_axis_orders_of
from tlf.frontend.torch.import_errors import ImportFailure
from tlf.runtime.triton.device_selection import choose_interpreter_mode


class CompiledModule(CallableModule):
    """A callable module with the stages and explanations of its program."""

    def __init__(
        self,
        imported: ImportedProgram,
        target: str | TargetSpec,
        check_indices: bool = False,
        cache: bool = True,
    ) -> None:
        self.imported = imported
        self._compiled = CompiledProgram(
            imported.module, target, check_indices=check_indices, cache=cache
        )
        super().__init__(self._compiled, _call_of(imported), imported.weights)

    @property
    def is_cached(self) -> bool:
        """True if the emitted program was in the cache."""
        return self._compiled.is_cached

    def ir(self, stage: str = "input") -> str:
        """Return the program at a stage, see `CompiledProgram.ir`."""
        return self._compiled.ir(stage)

    def explain(self) -> str:
        """Return a description of the groups, see `CompiledProgram.explain`."""
        return self._compiled.explain()


def _call_of(imported: ImportedProgram) -> ModuleCall:
    """Return the mapping of a call of an imported module."""
    values = [
        each if isinstance(each, int) else KnownOutput(each.value)
        for each in imported.function.outputs
    ]
    return ModuleCall(
        imported.arguments,
        tuple(values),
        tuple(result_axis_orders_of(imported.function)),
        imported.outputs,
        imported.mutated,
        imported.constants,
        imported.in_spec,
        imported.out_spec,
        imported.own_constants,
    )


def compile_module(
    module: torch.nn.Module,
    inputs: Sequence[Any],
    options: Mapping[str, Any] | None = None,
    target: str | TargetSpec = "reference",
    check_indices: bool = False,
    cache: bool = True,
    f32_precision: F32PrecisionOption = None,
) -> CompiledModule:
    """Import a module for example inputs, and compile it."""
    _reject_meta_tensors(module)
    choose_interpreter_mode()
    with locate_errors(None, "the target"):
        weight_layouts = takes_tensors_in_place(target)
    imported = from_torch(
        module,
        inputs,
        options,
        weight_layouts=weight_layouts,
        f32_precision=f32_precision,
    )
    return CompiledModule(imported, target, check_indices, cache)


def _reject_meta_tensors(module: torch.nn.Module) -> None:
    """Raise `ImportFailure` for the first parameter or buffer without data."""
    for name, tensor in (*module.named_parameters(), *module.named_buffers()):
        if tensor.is_meta:
            raise ImportFailure(f"`{name}`: expected data, got a meta tensor")
