"""
API: compilation of the convertible subgraphs of an FX graph for the backend of
`torch.compile`, and calls of the compiled subgraphs.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from importlib import import_module
from operator import getitem
from typing import Any

import torch
from torch import fx
from xdsl.dialects.builtin import StringAttr

from tlf.compiler.api.argument_conversion import make_selector
from tlf.compiler.api.compiled_program import CompiledProgram
from tlf.compiler.api.torch_failures import LOG, FailureReporter
from tlf.compiler.api.torch_report import REPORT
from tlf.compiler.api.torch_settings import CudaGraphs, Settings
from tlf.compiler.backends.backends import (
    make_type_objection,
    takes_tensors_in_place,
)
from tlf.dialects.numerics_attribute import NUMERICS_ATTRIBUTE
from tlf.frontend.torch.convert import operation_name_of
from tlf.frontend.torch.f32_precision import (
    follows_convolution_switch,
    read_convolution_switch,
)
from tlf.frontend.torch.fx_partition import PartitionedGraph, partition_graph
from tlf.frontend.torch.graph_import import (
    ImportedFunction,
    import_graph,
    result_axis_orders_of,
)
from tlf.frontend.torch.memory_order import is_dense
from tlf.support.tensor_strides import with_axis_order, with_strides

GraphCallable = Callable[..., Any]


Strides = Sequence[int]


class CompiledGraph:
    """
    A compiled FX graph, called with its inputs in order. Outputs have the given
    `strides` and `devices`; by default they are on the device of the inputs.
    """

    def __init__(
        self,
        function: ImportedFunction,
        settings: Settings,
        strides: Mapping[int, Strides] | None = None,
        devices: Mapping[int, torch.device] | None = None,
    ) -> None:
        self.function = function
        self._order_inputs = make_selector(function.inputs)
        self.devices = devices or {}
        self.orders = result_axis_orders_of(function)
        self.strides = strides or {}
        function.module.attributes[NUMERICS_ATTRIBUTE] = StringAttr(settings.numerics)
        self.program = CompiledProgram(
            function.module, settings.target, cache=settings.cache
        )
        is_allowed = settings.cudagraphs is CudaGraphs.AUTO
        self.program.use_cuda_graphs(is_allowed)
        self._final_devices = self._find_final_devices()

    def _find_final_devices(self) -> Sequence[torch.device] | None:
        """
        Return the devices of the results if these are the outputs, in order and without
        a change of their memory order; `None` otherwise.
        """
        positions = range(len(self.orders))
        if self.strides or [*self.function.outputs] != [*positions]:
            return None
        if any(order is not None for order in self.orders):
            return None
        if not self.devices.keys() >= {*positions}:
            return None
        return [self.devices[at] for at in positions]

    def __call__(self, *inputs: torch.Tensor) -> list[Any]:
        results = self.program.run_ordered(self._order_inputs(inputs), True)
        if self._final_devices is not None:
            return [*map(_move, results, self._final_devices)]
        return self._convert_results(results, inputs)

    def _convert_results(
        self, results: Sequence[Any], inputs: Sequence[torch.Tensor]
    ) -> list[Any]:
        """Return the outputs, with their devices, memory orders and strides."""
        # Numbers may be passed as host tensors, whatever the device of other inputs.
        devices = (each.device for each in inputs if each.device.type != "cpu")
        device = next(devices, torch.device("cpu"))
        outputs = [
            with_axis_order(
                _move(results[output], self.devices.get(at, device)),
                self.orders[output],
            )
            if isinstance(output, int)
            else output.copy_value()
            for at, output in enumerate(self.function.outputs)
        ]
        for output, strides in self.strides.items():
            outputs[output] = with_strides(outputs[output], strides)
        return outputs


def _move(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Return a tensor on a device."""
    return tensor if tensor.device == device else tensor.to(device)


def compile_graph(
    source: fx.GraphModule, settings: Settings, parameters: Container[int] = ()
) -> GraphCallable:
    """
    Compile the supported parts of a graph of ATen operations; `parameters` are the
    positions of inputs that are weights. Returns a function from the inputs of the
    graph to its outputs.
    """
    inputs = source.graph.find_nodes(op="placeholder")
    weights = {
        node.name for position, node in enumerate(inputs) if position in parameters
    }
    faults = FailureReporter(settings)
    objection = make_type_objection(settings.target)
    parts = partition_graph(source, objection, settings.check_indices)
    _count_and_log_coverage(parts, source, faults)
    for name in parts.submodules:
        part = parts.module.get_submodule(name)
        assert isinstance(part, fx.GraphModule)
        placeholders = part.graph.find_nodes(op="placeholder")
        weight_positions = [
            position
            for position, node in enumerate(placeholders)
            if node.name in weights
        ]
        strides = _observable_output_strides(parts.module, name, part)
        compile_part = partial(
            _try_compile_subgraph, part, weight_positions, strides, faults
        )
        if (compiled := compile_part()) is None:
            REPORT.count_as_eager(operation_names_of(part))
            continue
        submodule = _CompiledSubmodule(compiled, compile_part, part, faults)
        parts.module.delete_submodule(name)
        setattr(parts.module, name, submodule)
    # Modules of partitions find out at each call if their code is up to date.
    return fx.GraphModule(parts.module, parts.module.graph).forward


def _count_and_log_coverage(
    partitioned_graph: PartitionedGraph,
    source: fx.GraphModule,
    reporter: FailureReporter,
) -> None:
    """Count the compiled operations, and log those that PyTorch runs."""
    REPORT.compiled += partitioned_graph.operation_count
    REPORT.eager.update(
        reason.operation for reason in partitioned_graph.unconverted_operations
    )
    for reason in partitioned_graph.unconverted_operations:
        if reason.is_fault:
            reporter.report_failure(reason.operation, reason.text, source)
        else:
            LOG.info(
                "%s is not compiled and runs in PyTorch: %s",
                reason.operation,
                reason.text,
            )


def _observable_output_strides(
    module: fx.GraphModule, name: str, part: fx.GraphModule
) -> Mapping[int, Strides]:
    """Return the strides of outputs of a subgraph that PyTorch can observe."""
    (call,) = module.graph.find_nodes(op="call_module", target=name)
    (output,) = part.graph.find_nodes(op="output")
    returned = output.args[0]
    if isinstance(returned, fx.Node):
        readers, nodes = {0: call.users}, [returned]
    else:
        readers = {each.args[1]: each.users for each in call.users}
        nodes = list(returned)
    return {
        index: tuple(nodes[index].meta["val"].stride())
        for index, users in readers.items()
        if any(user.op == "call_function" for user in users)
        or (
            any(user.op == "output" for user in users)
            and not is_dense(nodes[index].meta["val"])
        )
    }


def _output_devices(part: fx.GraphModule) -> Mapping[int, torch.device]:
    """Return the device of each tensor output, as far as known from tracing."""
    (output,) = part.graph.find_nodes(op="output")
    returned = output.args[0]
    nodes = [returned] if isinstance(returned, fx.Node) else returned
    values = (node.meta.get("val") for node in nodes)
    return {
        index: value.device
        for index, value in enumerate(values)
        if isinstance(value, torch.Tensor)
    }


def _try_compile_subgraph(
    subgraph: fx.GraphModule,
    weight_positions: Sequence[int],
    strides: Mapping[int, Strides],
    reporter: FailureReporter,
) -> CompiledGraph | None:
    """
    Compile an FX subgraph for the target; on failure report it, and return `None`
    unless the reporter raises `FallbackError`.
    """
    with _disable_fake_tensors():
        with reporter.report_exceptions(_describe_subgraph(subgraph), subgraph):
            function = import_graph(
                subgraph,
                weight_inputs=weight_positions,
                weight_layouts=takes_tensors_in_place(reporter.settings.target),
                f32_precision=reporter.settings.f32_precision,
            )
            with reporter.report_exceptions(
                _describe_subgraph(subgraph), function.module
            ):
                devices = _output_devices(subgraph)
                return CompiledGraph(function, reporter.settings, strides, devices)
    return None


def operation_names_of(graph_module: fx.GraphModule) -> list[str]:
    """Return the names of the operations that a graph calls, in order."""
    return [
        operation_name_of(node.target)
        for node in graph_module.graph.nodes
        if node.op.startswith("call") and node.target is not getitem
    ]


def _describe_subgraph(part: fx.GraphModule) -> str:
    """Return the name of a part, for messages."""
    names = operation_names_of(part)
    listed = ", ".join(dict.fromkeys(names[:3]))
    return f"a part of {len(names)} operations ({listed}{', ...' * (len(names) > 3)})"


def _disable_fake_tensors() -> AbstractContextManager[object]:
    """
    Return a context without fake tensors. Backends are called during tracing, but
    compiled programs allocate memory.
    """
    return import_module("torch.utils._python_dispatch")._disable_current_modes()


class _CompiledSubmodule(torch.nn.Module):
    """
    A compiled graph as a module that another graph calls. If a call fails, PyTorch runs
    this call and all later ones; if memory runs out, it runs this call only. The graph
    is compiled again for another precision of PyTorch's convolutions.
    """

    def __init__(
        self,
        compiled: CompiledGraph,
        compile_again: Callable[[], CompiledGraph | None],
        source: fx.GraphModule,
        reporter: FailureReporter,
    ) -> None:
        super().__init__()
        precision = reporter.settings.f32_precision
        self.follows_switch = follows_convolution_switch(source.graph, precision)
        self.compile_again = compile_again
        self.variants: dict[str | None, CompiledGraph | None] = {
            self._current_switch(): compiled
        }
        """
        Compiled graphs by the precision of PyTorch's convolutions; `None` as a value if
        PyTorch runs the graph.
        """
        self.source = source
        self.label = _describe_subgraph(source)
        self.faults = reporter
        (output,) = source.graph.find_nodes(op="output")
        self.is_single = isinstance(output.args[0], fx.Node)

    def _current_switch(self) -> str | None:
        """Return the precision of PyTorch's convolutions, if the graph follows it."""
        return read_convolution_switch() if self.follows_switch else None

    def __call__(self, *inputs: torch.Tensor) -> Any:
        """Run the graph, without the hooks of modules, which nothing registers."""
        if (switch := self._current_switch()) not in self.variants:
            self.variants[switch] = self.compile_again()
        if (compiled := self.variants[switch]) is None:
            return self.source(*inputs)
        try:
            results = compiled(*inputs)
        except torch.OutOfMemoryError as error:
            LOG.warning("%s runs in PyTorch this time: %s", self.label, error)
            return self.source(*inputs)
        except Exception:
            with self.faults.report_exceptions(self.label, compiled.function.module):
                raise
        else:
            return results[0] if self.is_single else results
        self.variants[switch] = None
        REPORT.count_as_eager(operation_names_of(self.source))
        return self.source(*inputs)
