"""
Import of FX graphs of ATen operations: construction of a function of `graph` operations
on tensors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, fx
from xdsl.builder import Builder
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.rewriter import InsertPoint

from tlf.dialects import graph
from tlf.dialects.io_layout_attributes import (
    ANY_LAYOUT,
    get_result_layouts,
    set_argument_layouts,
    set_result_layouts,
)
from tlf.dialects.parameter_attribute import mark_parameters
from tlf.frontend.torch.convert import (
    Value,
    convert_call,
    empty_result_of,
    fake_result_tensors_of,
    operation_name_of,
    original_operation_name_of,
)
from tlf.frontend.torch.element_types import ir_type_of
from tlf.frontend.torch.emitter import EMPTY_TENSOR, EmptyTensor
from tlf.frontend.torch.f32_precision import F32Precision
from tlf.frontend.torch.fx_typing import map_nodes_in_arguments
from tlf.frontend.torch.import_errors import ImportFailure, Unsupported
from tlf.frontend.torch.memory_order import axis_order_of
from tlf.frontend.torch.node_locations import location_of_path, module_path_of
from tlf.frontend.torch.registry import CONVERTERS
from tlf.support.tensor_arrays import to_array

_UNNAMED = re.compile(r"[^\w$.-]|^(?=\d)|_(?=\d+$)")
"""
Pattern of text that value names cannot contain: other characters, a leading digit, or a
trailing number, which the parser would strip.
"""


@dataclass(frozen=True)
class ConstantOutput:
    """Output that is known at compile time: a number, None, or an empty tensor."""

    value: Any

    def copy_value(self) -> Any:
        """Return the value; tensors are cloned, as callers may modify them."""
        return self.value.clone() if isinstance(self.value, Tensor) else self.value


@dataclass(frozen=True)
class ImportedFunction:
    """Function with the mapping of the inputs and outputs of its FX graph."""

    module: ModuleOp
    inputs: tuple[int, ...]
    """
    Inputs of the graph that are arguments, in order; inputs without elements are
    omitted.
    """
    outputs: tuple[int | ConstantOutput, ...]
    """For each output of the graph: the index of a result, or a constant."""


def sanitize_value_name(text: str) -> str:
    """Return a name that the parser preserves."""
    return _UNNAMED.sub(lambda found: "" if found[0] == "_" else "_", text)


def import_graph(
    source: fx.GraphModule,
    argument_names: Sequence[str] | None = None,
    optional_inputs: Container[int] = (),
    weight_inputs: Container[int] = (),
    function_name: str = "main",
    weight_layouts: bool = False,
    f32_precision: F32Precision | None = None,
) -> ImportedFunction:
    """
    Convert a graph of ATen operations with fake tensors in its metadata.

    `argument_names` are the names of the arguments. Unused `optional_inputs` arguments
    are omitted; `weight_inputs` are weights, whose layouts are declared with
    `weight_layouts`. Products of f32 have the precision `f32_precision`. Raises
    `ImportFailure` with the operation and its location.
    """
    imported = _GraphImporter(
        source, argument_names, optional_inputs, function_name, f32_precision
    ).run()
    (function,) = (op for op in imported.module.ops if isinstance(op, func.FuncOp))
    weights = [
        argument
        for argument, each in enumerate(imported.inputs)
        if each in weight_inputs
    ]
    if weights:
        mark_parameters(function, weights)
    reordered = () if weight_layouts else weights
    _declare_layouts(source, imported, function, reordered)
    return imported


def result_axis_orders_of(
    imported_function: ImportedFunction,
) -> list[Sequence[int] | None]:
    """
    Return the order of axes in memory that PyTorch has for each result, or `None`.
    """
    functions = [
        op for op in imported_function.module.ops if isinstance(op, func.FuncOp)
    ]
    declared = get_result_layouts(functions[0])
    return [None if each == ANY_LAYOUT else each for each in declared]


def _declare_layouts(
    source: fx.GraphModule,
    imported_function: ImportedFunction,
    function: func.FuncOp,
    reordered_weights: Container[int],
) -> None:
    """
    Declare the layouts of arguments and results by the strides of their tensors, except
    those of weights that are reordered once.
    """
    placeholders = source.graph.find_nodes(op="placeholder")
    inputs = {
        index: _axis_order_of(placeholders[position])
        for index, position in enumerate(imported_function.inputs)
        if index not in reordered_weights
    }
    (output,) = source.graph.find_nodes(op="output")
    nodes = [output.args[0]] if isinstance(output.args[0], fx.Node) else output.args[0]
    results = {
        result: _axis_order_of(node)
        for node, result in zip(
            cast(Sequence[Any], nodes), imported_function.outputs, strict=True
        )
        if isinstance(result, int)
    }
    set_argument_layouts(
        function, {index: each for index, each in inputs.items() if each}
    )
    set_result_layouts(
        function, {index: each for index, each in results.items() if each}
    )


def _axis_order_of(node: fx.Node) -> tuple[int, ...] | None:
    """Return the order of a tensor's axes in memory; `None` for row-major order."""
    (tensor,) = cast(tuple[Tensor], fake_result_tensors_of(node))
    return axis_order_of(tensor)


def _make_import_failure(node: fx.Node, text: str) -> ImportFailure:
    """
    Return the exception for an operation that cannot be imported, with its location.
    """
    what = operation_name_of(node.target)
    text = text if what in text else f"{original_operation_name_of(node)}: {text}"
    prefix = f"{path}: " if (path := module_path_of(node)) else ""
    return ImportFailure(f"{prefix}{text}")


class _GraphImporter:
    """Importer of one FX graph as a new function of graph operations, node by node."""

    def __init__(
        self,
        source: fx.GraphModule,
        argument_names: Sequence[str] | None,
        optional_inputs: Container[int],
        function_name: str,
        f32_precision: F32Precision | None,
    ) -> None:
        self.source = source
        self.optional = optional_inputs
        self.names = argument_names
        self.name = function_name
        self.f32_precision = f32_precision
        self.block = Block()
        self.builder = Builder(InsertPoint.at_end(self.block))
        self.values: dict[fx.Node, Value] = {}
        self.known: dict[fx.Node, Any] = {}
        """
        Results that depend on shapes only, as real tensors: empty tensors, and values
        computed from them.
        """
        self.inputs: list[int] = []

    def run(self) -> ImportedFunction:
        """Import placeholders, then all other nodes, and wrap them in a function."""
        placeholders = self.source.graph.find_nodes(op="placeholder")
        for position, node in enumerate(placeholders):
            self._import_placeholder(position, node)
        for node in self.source.graph.nodes:
            if node.op in ("call_function", "get_attr"):
                self._locate_failures(node, self._import_node)
        (output,) = self.source.graph.find_nodes(op="output")
        returned = output.args[0]
        outputs = [returned] if isinstance(returned, fx.Node) else returned
        return self._build_function(cast(Sequence[object], outputs))

    def _import_placeholder(self, input_index: int, node: fx.Node) -> None:
        """Add a block argument, unless the input is empty, or optional and unused."""
        if not node.users and input_index in self.optional:
            return
        try:
            (tensor,) = cast(tuple[torch.Tensor], fake_result_tensors_of(node))
            type_ = ir_type_of(tensor)
        except Unsupported as error:
            raise ImportFailure(f"argument `{node.name}`: {error}") from error
        if 0 in type_.get_shape():
            self.known[node] = torch.empty(type_.get_shape(), dtype=tensor.dtype)
            return
        argument = self.block.insert_arg(type_, len(self.block.args))
        hint = node.name if self.names is None else self.names[input_index]
        argument.name_hint = sanitize_value_name(hint)
        argument.location = location_of_path(hint)
        self.values[node] = argument
        self.inputs.append(input_index)

    def _locate_failures(
        self, node: fx.Node, import_action: Callable[[fx.Node], None]
    ) -> None:
        """Run `import_action` on `node`; turn any exception into an `ImportFailure`."""
        try:
            import_action(node)
        except Unsupported as error:
            raise _make_import_failure(node, str(error)) from error
        except Exception as error:
            text = " ".join(str(error).split())
            kind = type(error).__name__
            raise _make_import_failure(
                node, f"internal error: {kind}: {text}"
            ) from error

    def _import_node(self, node: fx.Node) -> None:
        """Emit operations for `node` into `values`, or put its tensor into `known`."""
        if node.op == "get_attr":
            self.values[node] = self._import_attribute(node)
        elif node.all_input_nodes and all(
            each in self.known for each in node.all_input_nodes
        ):
            self.known[node] = self._compute_known_result(node)
        elif (empty := empty_result_of(node)) is not None:
            self.known[node] = empty
        elif node.target in CONVERTERS or not node.is_impure():
            self.values[node] = convert_call(
                node, self.builder, self._value_of_node, self.f32_precision
            )

    def _import_attribute(self, node: fx.Node) -> SSAValue:
        """Emit the tensor attribute that a `get_attr` node names as a constant."""
        tensor: Any = self.source
        for part in str(node.target).split("."):
            tensor = getattr(tensor, part)
        if not isinstance(tensor, torch.Tensor):
            raise Unsupported(f"expected a tensor, got {type(tensor).__name__}")
        return self._emit_constant(tensor)

    def _emit_constant(self, tensor: torch.Tensor) -> SSAValue:
        type_ = ir_type_of(tensor)
        op = graph.ConstantOp(to_array(tensor), type_)
        return self.builder.insert(op).result

    def _compute_known_result(self, node: fx.Node) -> Any:
        """
        Execute the call of `node` in PyTorch on known tensors, and return its result.
        """
        function = cast(Callable[..., Any], node.target)
        arguments = map_nodes_in_arguments(node.args, self.known.__getitem__)
        options = map_nodes_in_arguments(node.kwargs, self.known.__getitem__)
        return function(*arguments, **options)

    def _value_of_node(self, node: fx.Node) -> Value | EmptyTensor:
        """
        Return the value of a node; a known result is emitted as a constant at each use.
        """
        if node in self.values:
            return self.values[node]
        if node not in self.known:
            raise Unsupported(f"no conversion of {original_operation_name_of(node)}")
        tensor = self.known[node]
        if not isinstance(tensor, torch.Tensor) or 0 in tensor.shape:
            return EMPTY_TENSOR
        return self._emit_constant(tensor)

    def _build_function(self, outputs: Sequence[object]) -> ImportedFunction:
        """
        Return `outputs` from a new function of the block; known ones are constants.
        """
        results: list[SSAValue] = []
        output_sources: list[int | ConstantOutput] = []
        for node in outputs:
            if not isinstance(node, fx.Node):
                output_sources.append(ConstantOutput(node))
            elif node in self.known:
                output_sources.append(ConstantOutput(self.known[node]))
            else:
                output_sources.append(len(results))
                results.append(self._named_result_of(node))
        self.builder.insert(func.ReturnOp(*results))
        arguments: Sequence[Attribute] = [each.type for each in self.block.args]
        function = func.FuncOp(
            self.name,
            (arguments, [each.type for each in results]),
            Region(self.block),
        )
        module = ModuleOp([function])
        return ImportedFunction(module, tuple(self.inputs), tuple(output_sources))

    def _named_result_of(self, node: fx.Node) -> SSAValue:
        """Return the value of `node`; it gets the name of `node` if it has none."""
        value = self.values[node]
        assert isinstance(value, SSAValue)
        if value.name_hint is None:
            value.name_hint = sanitize_value_name(node.name)
        return value
