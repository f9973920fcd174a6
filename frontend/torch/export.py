"""
Import of PyTorch modules and exported programs: `from_torch`, from tracing to a module
of `graph` operations.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, InputKind, OutputKind
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils import _pytree as pytree
from xdsl.dialects.builtin import ModuleOp

from tlf.frontend.torch.convert import operation_name_of
from tlf.frontend.torch.decompositions import (
    all_decompositions,
    core_decompositions,
    has_only_converted_operations,
)
from tlf.frontend.torch.f32_precision import F32Precision, F32PrecisionOption
from tlf.frontend.torch.graph_import import ImportedFunction, import_graph
from tlf.frontend.torch.import_errors import ImportFailure
from tlf.frontend.torch.noop_dropout import find_noop_dropout, replace_noop_dropout

_LOG = logging.getLogger("tlf.torch")


@dataclass(frozen=True)
class ImportedProgram:
    """
    Imported function, whose arguments are the inputs of a module, and its parameters
    and buffers by name.
    """

    function: ImportedFunction
    weights: Mapping[str, torch.Tensor]
    """Parameters, buffers and constants, by the names of their arguments."""
    arguments: tuple[str | int, ...]
    """
    For each argument of the function: the name of a weight, or the index of an input.
    """
    outputs: tuple[int, ...]
    """Indices of the graph's outputs that are outputs of the module."""
    mutated: Mapping[int, str | int]
    """
    Outputs of the graph that replace a buffer, such as running statistics, or the input
    with an index.
    """
    constants: Mapping[int, Any]
    """Inputs other than tensors, by index; the program is specialized for them."""
    in_spec: pytree.TreeSpec
    out_spec: pytree.TreeSpec
    own_constants: frozenset[str] = frozenset()
    """Names of the weights that are not in the state dictionary of the module."""

    @property
    def module(self) -> ModuleOp:
        """Module of the program."""
        return self.function.module


def from_torch(
    module: torch.nn.Module | ExportedProgram,
    inputs: Sequence[Any] = (),
    options: Mapping[str, Any] | None = None,
    *,
    weight_layouts: bool = False,
    f32_precision: F32PrecisionOption = None,
) -> ImportedProgram:
    """
    Import a PyTorch module, or a program from `torch.export`, as graph IR.

    `inputs` and `options` are example arguments of `forward`; their shapes, dtypes and
    layouts become those of the program. With `weight_layouts`, it takes weights in the
    layouts of the module, as programs for a GPU use them in place; otherwise each
    target may reorder them once. `f32_precision` is the precision of f32 products:
    `ieee`, `tf32x3`, `tf32`, or one for `matmul` and one for `conv`. By default it is
    that of PyTorch on the device of the tensors. Raises `ImportFailure`.
    """
    precision = F32Precision.from_option(f32_precision)
    if not isinstance(module, ExportedProgram):
        module = export_module(module, inputs, options)
    return import_program(decompose_program(module), weight_layouts, precision)


@contextmanager
def _apply_import_settings() -> Generator[None]:
    """
    Use the decomposable attention, and record no gradients, inside of the context.
    """
    with warnings.catch_warnings(), sdpa_kernel([SDPBackend.MATH]), torch.no_grad():
        # PyTorch's copies of its own trees emit a FutureWarning.
        warnings.filterwarnings("ignore", category=FutureWarning, module="copyreg")
        yield


@_apply_import_settings()
def export_module(
    module: torch.nn.Module,
    inputs: Sequence[Any],
    options: Mapping[str, Any] | None = None,
) -> ExportedProgram:
    """
    Trace a module into an `ExportedProgram` by `torch.export`, without decomposing it.
    Raises `ImportFailure`.
    """
    if not isinstance(inputs, tuple | list):
        kind = type(inputs).__name__
        raise ImportFailure(f"expected a tuple of example inputs, got {kind}")
    arguments, keywords = tuple(inputs), dict(options or {})
    try:
        with _silence_logger("torch._subclasses.fake_tensor"):
            return torch.export.export(module, arguments, keywords, strict=False)
    except Exception as error:
        raise _make_import_failure("torch.export", error) from error


@contextmanager
def _silence_logger(name: str) -> Generator[None]:
    """Suppress a PyTorch logger, which writes the traceback of a raised error."""
    logger = logging.getLogger(name)
    logger.addFilter(_drop_record)
    try:
        yield
    finally:
        logger.removeFilter(_drop_record)


def _drop_record(record: logging.LogRecord) -> bool:
    """Return `False`, so that a logger drops a record."""
    del record
    return False


def _make_import_failure(step: str, error: Exception) -> ImportFailure:
    text = " ".join(str(error).split()) or type(error).__name__
    return ImportFailure(f"{step}: {text}")


@_apply_import_settings()
def decompose_program(program: ExportedProgram) -> ExportedProgram:
    """
    Decompose a program into operations with converters, as far as decompositions exist.
    Raises `ImportFailure`.
    """
    if find_noop_dropout(program.graph):
        program = _copy_program(program)
        for erased, operand in replace_noop_dropout(program.graph).items():
            program.graph_signature.replace_all_uses(erased, operand)
    if has_only_converted_operations(program):
        return program
    try:
        return _run_decompositions(program)
    except Exception as error:
        raise _make_import_failure("run_decompositions", error) from error


def _copy_program(program: Any) -> ExportedProgram:
    """Return a program with a copy of the graph, and the same tensors."""
    return ExportedProgram(
        program.graph_module,
        deepcopy(program.graph),
        deepcopy(program.graph_signature),
        program.state_dict,
        program.range_constraints,
        deepcopy(program.module_call_graph),
        program.example_inputs,
        program.constants,
        verifiers=program.verifiers,
    )


def _run_decompositions(program: Any) -> ExportedProgram:
    """
    Run all decompositions; if PyTorch rejects one, run only the functional core
    decompositions.
    """
    try:
        return program.run_decompositions(all_decompositions())
    except AssertionError as error:
        # PyTorch asserts that no operation of a graph writes to a tensor.
        _LOG.info("decomposed by core decompositions only: %s", error)
    return program.run_decompositions(core_decompositions())


def import_program(
    program: ExportedProgram,
    weight_layouts: bool = False,
    f32_precision: F32Precision | None = None,
) -> ImportedProgram:
    """
    Import an exported, already decomposed program of ATen operations as graph IR; with
    `weight_layouts`, the layouts of weights are declared.
    """
    _reject_side_effects(program)
    names, sources, constants = _classify_inputs(program)
    weights = _find_weights(program, sources)
    optional = [i for i, each in enumerate(sources) if each in {*weights, *constants}]
    outputs, mutated = _classify_outputs(
        program, dict(zip(names, sources, strict=True))
    )
    fixed = set(weights) - set(mutated.values())
    parameters = [index for index, source in enumerate(sources) if source in fixed]
    function = import_graph(
        program.graph_module,
        _label_inputs(names, sources),
        optional,
        parameters,
        weight_layouts=weight_layouts,
        f32_precision=f32_precision,
    )
    call = program.call_spec
    return ImportedProgram(
        function,
        weights,
        tuple(sources[position] for position in function.inputs),
        outputs,
        mutated,
        constants,
        cast(pytree.TreeSpec, call.in_spec),
        cast(pytree.TreeSpec, call.out_spec),
        frozenset(set(weights).difference(program.state_dict)),
    )


def _reject_side_effects(program: ExportedProgram) -> None:
    """Raise `ImportFailure` for the first operation with side effects."""
    for node in program.graph.nodes:
        if (
            node.op == "call_function"
            and operation_name_of(node.target) == "with_effects"
        ):
            raise ImportFailure(f"no conversion of {operation_name_of(node.args[1])}")


def _classify_inputs(
    program: ExportedProgram,
) -> tuple[list[str], list[str | int], dict[int, Any]]:
    """
    Return the names of the graph's inputs, the origin of each, which is a weight name
    or the index of a module input, and the module inputs that are not tensors.
    """
    names, sources, constants = list[str](), list[str | int](), dict[int, Any]()
    count = 0
    for spec in program.graph_signature.input_specs:
        names.append(getattr(spec.arg, "name", ""))
        if spec.kind is InputKind.USER_INPUT:
            sources.append(count)
            if isinstance(spec.arg, ConstantArgument):
                constants[count] = spec.arg.value
            count += 1
        elif spec.target is None:
            raise ImportFailure(f"expected tensors as inputs, got {spec.kind.name}")
        else:
            sources.append(spec.target)
    return names, sources, constants


def _label_inputs(names: Sequence[str], sources: Sequence[str | int]) -> list[str]:
    """Return the names of arguments: those of weights are from the module."""
    return [
        source if isinstance(source, str) else name
        for name, source in zip(names, sources, strict=True)
    ]


def _classify_outputs(
    program: ExportedProgram, inputs: Mapping[str, str | int]
) -> tuple[tuple[int, ...], dict[int, str | int]]:
    """
    Return the indices of the graph's outputs that are outputs of the module, and the
    values that the other outputs replace, where `inputs` maps each input of the graph
    to its origin.
    """
    outputs, mutated = list[int](), dict[int, str | int]()
    for position, spec in enumerate(program.graph_signature.output_specs):
        if spec.kind is OutputKind.USER_OUTPUT:
            outputs.append(position)
        elif spec.kind is OutputKind.BUFFER_MUTATION and spec.target is not None:
            mutated[position] = spec.target
        elif spec.kind is OutputKind.USER_INPUT_MUTATION and spec.target is not None:
            mutated[position] = inputs[spec.target]
        else:
            raise ImportFailure(f"expected no output that is a {spec.kind.name}")
    return tuple(outputs), mutated


def _find_weights(
    program: ExportedProgram, sources: Sequence[str | int]
) -> dict[str, torch.Tensor]:
    """Return the weights among the inputs by name."""
    return {
        each: _find_weight(program, each) for each in sources if isinstance(each, str)
    }


def _find_weight(program: ExportedProgram, target: str) -> torch.Tensor:
    """Return the tensor `target` from the state or the constants of the program."""
    for table in (program.state_dict, program.constants):
        tensor = table.get(target)
        if isinstance(tensor, torch.Tensor):
            return tensor
    raise ImportFailure(f"expected a tensor `{target}` in the program, got none")
