"""
API: the public function `tlf.compile`, from a program or a PyTorch module to a
callable.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from xdsl.dialects.builtin import ModuleOp

from tlf.compiler.api.compiled_program import CompiledProgram, read_verified_program
from tlf.compiler.driver.progress_display import show_progress
from tlf.dialects.target import TargetSpec
from tlf.support.call_stack import reserve_stack

if TYPE_CHECKING:
    from torch.nn import Module

    from tlf.compiler.api.torch_module import CompiledModule
    from tlf.frontend.torch import ImportedProgram
    from tlf.frontend.torch.f32_precision import F32PrecisionOption


@overload
def compile(
    program: str | Path | ModuleOp,
    *,
    target: str | TargetSpec = "reference",
    entry: str | None = None,
    check_indices: bool = False,
    cache: bool = True,
) -> CompiledProgram: ...


@overload
def compile(
    program: ImportedProgram | Module,
    inputs: Sequence[Any] | None = None,
    options: Mapping[str, Any] | None = None,
    *,
    target: str | TargetSpec = "reference",
    check_indices: bool = False,
    cache: bool = True,
    f32_precision: F32PrecisionOption = None,
) -> CompiledModule: ...


@reserve_stack
@show_progress(is_default=False)
def compile(
    program: str | Path | ModuleOp | ImportedProgram | Module,
    inputs: Sequence[Any] | None = None,
    options: Mapping[str, Any] | None = None,
    *,
    target: str | TargetSpec = "reference",
    entry: str | None = None,
    check_indices: bool = False,
    cache: bool = True,
    f32_precision: F32PrecisionOption = None,
) -> CompiledProgram | CompiledModule:
    """
    Compile a program to a function on numpy arrays or torch tensors.

    `program` is the text of a program, the path of a file, an xDSL module, a result of
    `tlf.from_torch`, or a PyTorch module. A PyTorch module is imported for the example
    `inputs`, and `options` by name, and keeps its call signature. `target` is
    `reference`, `npu`, `triton`, or a target description by its name or file; `entry`
    names the function, if there are several. With `check_indices`, a call raises
    `CheckedValueError` for an index out of range and for an integer divided by 0. With
    `cache` set to `False`, the cache of compiled programs is not used. Products of f32
    in a PyTorch module have the precision `f32_precision`, see `tlf.from_torch`.

    Raises `CompileError` for an invalid program or description, `ImportFailure` for a
    module that cannot be imported, `SourceError` for a file that cannot be read.
    """
    if isinstance(program, str | Path | ModuleOp):
        module, base = read_verified_program(program)
        return CompiledProgram(
            module, target, entry, base, check_indices=check_indices, cache=cache
        )
    call = program, inputs, options
    return _compile_torch(*call, target, check_indices, cache, f32_precision)


def _compile_torch(
    program: ImportedProgram | Module,
    inputs: Sequence[Any] | None,
    options: Mapping[str, Any] | None,
    target: str | TargetSpec,
    check_indices: bool,
    cache: bool,
    f32_precision: F32PrecisionOption,
) -> CompiledModule:
    """Compile a result of `tlf.from_torch`, or a PyTorch module for example inputs."""
    from tlf.compiler.api.torch_module import CompiledModule, compile_module
    from tlf.frontend.torch import ImportedProgram

    if isinstance(program, ImportedProgram):
        if f32_precision is not None:
            raise TypeError("expected f32_precision for a module only, got a program")
        return CompiledModule(program, target, check_indices, cache)
    torch = sys.modules["torch"]
    if not isinstance(program, torch.nn.Module):
        kind = type(program).__name__
        raise TypeError(f"expected a program or a module of PyTorch, got {kind}")
    if inputs is None:
        raise TypeError("expected example inputs for a module of PyTorch")
    call = program, inputs, options
    return compile_module(*call, target, check_indices, cache, f32_precision)
