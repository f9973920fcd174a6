"""Import of an FX graph of ATen operations as a function on tensors."""

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
from tlf.dialects.io_layouts import (
    ANY_LAYOUT,
    get_result_layouts,
    set_argument_layouts,
    set_result_layouts,
)
from tlf.dialects.parameters import mark_parameters
from tlf.frontend.torch.convert import (
    Value,
    convert,
    empty_result_of,
    fake_tensors,
    name_of,
    original_name,
)
from tlf.frontend.torch.element_types import to_array, type_of
from tlf.frontend.torch.emitter import EMPTY_TENSOR, EmptyTensor
from tlf.frontend.torch.fx_typing import map_nodes
from tlf.frontend.torch.import_errors import ImportFailure, Unsupported
from tlf.frontend.torch.memory_order import axis_order_of
from tlf.frontend.torch.node_locations import module_path_of, name_location
from tlf.frontend.torch.registry import CONVERTERS

_UNNAMED = re.compile(r"[^\w$.-]|^(?=\d)|_(?=\d+$)")
"""
Pattern of text that names of values cannot contain: other characters, a leading digit,
or a trailing number that the parser would take for its own.
"""


@dataclass(frozen=True)
class ConstantOutput:
    """An output that is known at compile time: a number, nothing, an empty tensor."""

    value: Any

    def copy_value(self) -> Any:
        """The value, which a caller may change."""
        return self.value.clone() if isinstance(self.value, Tensor) else self.value


@dataclass(frozen=True)
class ImportedFunction:
    """A function, and what becomes of the inputs and outputs of its FX graph."""

    module: ModuleOp
    inputs: tuple[int, ...]
    """The inputs of the graph that are arguments, in their order: those that have
    elements, and not only a shape."""
    outputs: tuple[int | ConstantOutput, ...]
    """For each output of the graph: which result it is, or its value."""


def value_name(text: str) -> str:
    """A name that the parser keeps as it is."""
    return _UNNAMED.sub(lambda found: "" if found[0] == "_" else "_", text)


def import_graph(
    source: fx.GraphModule,
    names: Sequence[str] | None = None,
    optional: Container[int] = (),
    parameters: Container[int] = (),
    name: str = "main",
) -> ImportedFunction:
    """
    Convert a graph of ATen operations with fake tensors in its metadata. `names` are
    those of the arguments; `optional` ones are left out where nothing uses them, and
    `parameters` hold weights. Raises `ImportFailure`, naming the operation and its
    place.
    """
    found = _GraphImporter(source, names, optional, name).run()
    (function,) = (op for op in found.module.ops if isinstance(op, func.FuncOp))
    places = [at for at, each in enumerate(found.inputs) if each in parameters]
    if places:
        mark_parameters(function, places)
    _declare_layouts(source, found, function, places)
    return found


def result_orders(imported: ImportedFunction) -> list[Sequence[int] | None]:
    """Of each result, the order of its axes in memory that PyTorch has it in."""
    functions = [op for op in imported.module.ops if isinstance(op, func.FuncOp)]
    declared = get_result_layouts(functions[0])
    return [None if each == ANY_LAYOUT else each for each in declared]


def _declare_layouts(
    source: fx.GraphModule,
    found: ImportedFunction,
    function: func.FuncOp,
    weights: Container[int],
) -> None:
    """
    Let arguments and results lie as the strides of their tensors say, but for weights,
    which are put in order once.
    """
    placeholders = source.graph.find_nodes(op="placeholder")
    inputs = {
        at: _axis_order_of(placeholders[position])
        for at, position in enumerate(found.inputs)
        if at not in weights
    }
    (output,) = source.graph.find_nodes(op="output")
    nodes = [output.args[0]] if isinstance(output.args[0], fx.Node) else output.args[0]
    results = {
        place: _axis_order_of(node)
        for node, place in zip(cast(Sequence[Any], nodes), found.outputs, strict=True)
        if isinstance(place, int)
    }
    set_argument_layouts(function, {at: each for at, each in inputs.items() if each})
    set_result_layouts(function, {at: each for at, each in results.items() if each})


def _axis_order_of(node: fx.Node) -> tuple[int, ...] | None:
    """The order of the axes of a tensor in memory, if it is not row-major."""
    (tensor,) = cast(tuple[Tensor], fake_tensors(node))
    return axis_order_of(tensor)


def _make_failure(node: fx.Node, text: str) -> ImportFailure:
    """
    Return the exception for an operation that cannot be imported, with its location.
    """
    what = name_of(node.target)
    text = text if what in text else f"{original_name(node)}: {text}"
    prefix = f"{path}: " if (path := module_path_of(node)) else ""
    return ImportFailure(f"{prefix}{text}")


class _GraphImporter:
    """Walks the nodes of a graph in order."""

    def __init__(
        self,
        source: fx.GraphModule,
        names: Sequence[str] | None,
        optional: Container[int],
        name: str,
    ) -> None:
        self.source = source
        self.optional = optional
        self.names = names
        self.name = name
        self.block = Block()
        self.builder = Builder(InsertPoint.at_end(self.block))
        self.values: dict[fx.Node, Value] = {}
        self.known: dict[fx.Node, Any] = {}
        """Results that follow from shapes alone, as real tensors: empty ones, and what
        is computed from them."""
        self.inputs: list[int] = []

    def run(self) -> ImportedFunction:
        placeholders = self.source.graph.find_nodes(op="placeholder")
        for position, node in enumerate(placeholders):
            self._import_placeholder(position, node)
        for node in self.source.graph.nodes:
            if node.op in ("call_function", "get_attr"):
                self._with_location(node, self._import_node)
        (output,) = self.source.graph.find_nodes(op="output")
        returned = output.args[0]
        outputs = [returned] if isinstance(returned, fx.Node) else returned
        return self._build_function(cast(Sequence[object], outputs))

    def _import_placeholder(self, position: int, node: fx.Node) -> None:
        if not node.users and position in self.optional:
            return
        try:
            (tensor,) = cast(tuple[torch.Tensor], fake_tensors(node))
            type_ = type_of(tensor)
        except Unsupported as error:
            raise ImportFailure(f"argument `{node.name}`: {error}") from error
        if 0 in type_.get_shape():
            self.known[node] = torch.empty(type_.get_shape(), dtype=tensor.dtype)
            return
        argument = self.block.insert_arg(type_, len(self.block.args))
        hint = node.name if self.names is None else self.names[position]
        argument.name_hint = value_name(hint)
        argument.location = name_location(hint)
        self.values[node] = argument
        self.inputs.append(position)

    def _with_location(self, node: fx.Node, action: Callable[[fx.Node], None]) -> None:
        try:
            action(node)
        except Unsupported as error:
            raise _make_failure(node, str(error)) from error
        except Exception as error:
            text = " ".join(str(error).split())
            kind = type(error).__name__
            raise _make_failure(node, f"internal error: {kind}: {text}") from error

    def _import_node(self, node: fx.Node) -> None:
        if node.op == "get_attr":
            self.values[node] = self._import_attribute(node)
        elif node.all_input_nodes and all(
            each in self.known for each in node.all_input_nodes
        ):
            self.known[node] = self._evaluate_node(node)
        elif (empty := empty_result_of(node)) is not None:
            self.known[node] = empty
        elif node.target in CONVERTERS or not node.is_impure():
            self.values[node] = convert(node, self.builder, self._value_of)

    def _import_attribute(self, node: fx.Node) -> SSAValue:
        """A tensor that the graph holds, as a constant."""
        tensor: Any = self.source
        for part in str(node.target).split("."):
            tensor = getattr(tensor, part)
        if not isinstance(tensor, torch.Tensor):
            raise Unsupported(f"expected a tensor, got {type(tensor).__name__}")
        return self._emit_constant(tensor)

    def _emit_constant(self, tensor: torch.Tensor) -> SSAValue:
        type_ = type_of(tensor)
        op = graph.ConstantOp(to_array(tensor), type_)
        return self.builder.insert(op).result

    def _evaluate_node(self, node: fx.Node) -> Any:
        function = cast(Callable[..., Any], node.target)
        arguments = map_nodes(node.args, self.known.__getitem__)
        options = map_nodes(node.kwargs, self.known.__getitem__)
        return function(*arguments, **options)

    def _value_of(self, node: fx.Node) -> Value | EmptyTensor:
        """The value of a node; a known one becomes a constant where it is used."""
        if node in self.values:
            return self.values[node]
        if node not in self.known:
            raise Unsupported(f"no conversion of {original_name(node)}")
        tensor = self.known[node]
        if not isinstance(tensor, torch.Tensor) or 0 in tensor.shape:
            return EMPTY_TENSOR
        return self._emit_constant(tensor)

    def _build_function(self, outputs: Sequence[object]) -> ImportedFunction:
        results: list[SSAValue] = []
        places: list[int | ConstantOutput] = []
        for node in outputs:
            if not isinstance(node, fx.Node):
                places.append(ConstantOutput(node))
            elif node in self.known:
                places.append(ConstantOutput(self.known[node]))
            else:
                places.append(len(results))
                results.append(self._result_of(node))
        self.builder.insert(func.ReturnOp(*results))
        arguments: Sequence[Attribute] = [each.type for each in self.block.args]
        function = func.FuncOp(
            self.name,
            (arguments, [each.type for each in results]),
            Region(self.block),
        )
        module = ModuleOp([function])
        return ImportedFunction(module, tuple(self.inputs), tuple(places))

    def _result_of(self, node: fx.Node) -> SSAValue:
        value = self.values[node]
        assert isinstance(value, SSAValue)
        if value.name_hint is None:
            value.name_hint = value_name(node.name)
        return value
