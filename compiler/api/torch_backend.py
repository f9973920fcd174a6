"""
API: the backend `tlf` of `torch.compile`, which traces, decomposes and compiles FX
graphs.

    torch.compile(model, backend="tlf", options={"target": "triton"})

Supported operations are compiled; all others run in PyTorch, and are listed by the
logger `tlf.torch`. Graphs that need gradients run in PyTorch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
import torch
from torch import fx
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
)

from tlf.compiler.api.torch_failures import LOG, FailureReporter
from tlf.compiler.api.torch_report import REPORT
from tlf.compiler.api.torch_settings import Settings
from tlf.compiler.api.torch_subgraphs import (
    GraphCallable,
    compile_graph,
    operation_names_of,
)
from tlf.compiler.driver.progress_display import show_progress
from tlf.frontend.torch.as_strided_views import erase_noop_as_strided, has_as_strided
from tlf.frontend.torch.decompositions import (
    Table,
    all_decompositions,
    core_decompositions,
)
from tlf.frontend.torch.noop_dropout import replace_noop_dropout
from tlf.frontend.torch.preserved_operations import preserve_converted_operations
from tlf.runtime.triton.device_selection import choose_interpreter_mode
from tlf.support.call_stack import reserve_stack

__all__ = ["REPORT", "tlf"]


def tlf(
    source: fx.GraphModule,
    inputs: Sequence[torch.Tensor],
    *,
    options: Mapping[str, Any] | None = None,
) -> GraphCallable:
    """
    Return a callable for a graph traced by `torch.compile`, compiled as far as
    possible.

    The option `target` is `reference`, `npu`, `triton`, or a target description by its
    name or file; the default is `triton`. The option `numerics` is `strict`, the
    default, or `relaxed`: results may be rounded differently, and NaN and infinities
    need not be preserved. PyTorch runs operations that cannot be compiled; if
    `fallback` is `strict`, a failure of the compiler raises `FallbackError`. With
    `check_indices`, operations that PyTorch rejects for some indices or divisors are
    left to PyTorch. Reproducers of failures are written to the folder `reproducers`.
    With `cache` set to `False`, the cache of compiled programs is not used, and with
    `cudagraphs` set to `off`, kernels are launched one by one. Products of f32 have the
    precision `f32_precision`, by default that of PyTorch's switches on a CUDA device.
    """
    settings = Settings.from_options(options or {})
    if _needs_gradients(source, inputs):
        LOG.warning("a graph that needs gradients runs in PyTorch")
        REPORT.eager.update(operation_names_of(source))
        return source.forward
    choose_interpreter_mode()
    if replace_noop_dropout(source.graph):
        source.recompile()
    if not all(map(_is_static_tensor, inputs)):
        return _ShapeSpecializer(source, settings)
    return _compile_or_fall_back(source, inputs, settings)


def _needs_gradients(source: fx.GraphModule, inputs: Sequence[Any]) -> bool:
    """
    Return `True` if gradients are enabled and an input or a parameter requires them.
    """
    tensors = [each for each in inputs if isinstance(each, torch.Tensor)]
    return torch.is_grad_enabled() and any(
        each.requires_grad for each in (*tensors, *source.parameters())
    )


def _is_static_tensor(value: Any) -> bool:
    """Return `True` if an argument is a tensor of static shape."""
    return isinstance(value, torch.Tensor) and all(
        type(extent) is int for extent in value.shape
    )


@reserve_stack
@show_progress(is_default=False)
def _compile_or_fall_back(
    source: fx.GraphModule, inputs: Sequence[torch.Tensor], settings: Settings
) -> GraphCallable:
    """
    Return the compiled graph, or `source.forward` of PyTorch if the graph as a whole
    cannot be compiled.
    """
    with FailureReporter(settings).report_exceptions("the graph", source):
        try:
            return _decompose_and_compile(source, inputs, settings)
        except WritesAddressedInput:
            LOG.info(
                "the graph is not compiled and runs in PyTorch: it addresses an input "
                "it writes to"
            )
        except (DataDependentOutputException, DynamicOutputShapeException) as error:
            LOG.info(
                "the graph is not compiled and runs in PyTorch: it depends on data "
                "(%s)",
                error.func,
            )
    REPORT.eager.update(operation_names_of(source))
    return source.forward


def _decompose_and_compile(
    source: fx.GraphModule, inputs: Sequence[torch.Tensor], settings: Settings
) -> GraphCallable:
    """
    Decompose a graph as far as PyTorch allows, and compile it. A graph that depends on
    the strides of results is not decomposed, so that strides are those of its own
    operations.
    """
    if has_as_strided(source.graph):
        return _trace_and_compile(source, inputs, settings, {}, uses_as_strided=True)
    try:
        return _trace_and_compile(source, inputs, settings, all_decompositions())
    except TracingFailed as error:
        LOG.debug("decomposed by core decompositions only: %s", error)
    return _trace_and_compile(source, inputs, settings, core_decompositions())


def _trace_and_compile(
    source: fx.GraphModule,
    inputs: Sequence[torch.Tensor],
    settings: Settings,
    decomposition_table: Table,
    *,
    uses_as_strided: bool = False,
) -> GraphCallable:
    """
    Decompose a graph with `decomposition_table` and compile it; `uses_as_strided` if it
    addresses memory. Raises `WritesAddressedInput` if a graph that addresses memory
    writes to an input, and `TracingFailed` if an operation writes to a tensor.
    """
    from torch._dynamo.backends.common import aot_autograd

    traced: list[fx.GraphModule] = []

    def compile_traced(
        graph: fx.GraphModule, _: Sequence[torch.Tensor]
    ) -> GraphCallable:
        traced.append(graph)
        _prepare_traced_graph(graph, uses_as_strided)
        return _make_boxed_function(
            compile_graph(graph, settings, _weight_input_indices())
        )

    compiler: Any = aot_autograd(
        fw_compiler=compile_traced,
        inference_compiler=compile_traced,
        decompositions=decomposition_table,
        keep_inference_input_mutations=False,
    )
    try:
        with preserve_converted_operations():
            return compiler(source, inputs)
    except AssertionError as error:
        # PyTorch asserts that no operation of a graph writes to a tensor.
        if traced:
            raise
        raise TracingFailed(str(error)) from error


def _prepare_traced_graph(graph: fx.GraphModule, uses_as_strided: bool) -> None:
    """
    Erase `as_strided` operations without effect. Raises `WritesAddressedInput` if a
    graph that addresses memory writes to an input.
    """
    if uses_as_strided and _input_indices_from_metadata("mutated_inp_runtime_indices"):
        raise WritesAddressedInput
    if not uses_as_strided:
        erase_noop_as_strided(graph.graph)
        graph.recompile()


def _weight_input_indices() -> Sequence[int]:
    """
    Return the input indices of parameters and buffers of a module, for the graph being
    compiled.
    """
    return _input_indices_from_metadata("static_input_indices")


def _input_indices_from_metadata(field_name: str) -> Sequence[int]:
    """Return the input indices in a field of the tracing metadata."""
    context = import_module("torch._guards").TracingContext.try_get()
    metadata = None if context is None else context.fw_metadata
    return () if metadata is None else tuple(getattr(metadata, field_name) or ())


def _make_boxed_function(function: GraphCallable) -> GraphCallable:
    return import_module("functorch.compile").make_boxed_func(function)


class WritesAddressedInput(Exception):
    """A graph that writes to an input also addresses tensors by memory offset."""


class TracingFailed(Exception):
    """PyTorch cannot trace a graph with the given decompositions."""


class _ShapeSpecializer:
    """
    A graph with dynamic shapes: each combination of shapes is compiled at its first
    call.
    """

    def __init__(self, source: fx.GraphModule, settings: Settings) -> None:
        self.source = source
        self.settings = settings
        self.compiled: dict[tuple[Any, ...], GraphCallable] = {}
        placeholders = source.graph.find_nodes(op="placeholder")
        self.numbers = [_is_python_number_input(node) for node in placeholders]

    def __call__(self, *inputs: Any) -> Any:
        values = [
            np.float64(each.item()) if is_number else each
            for each, is_number in zip(inputs, self.numbers, strict=True)
        ]
        key = tuple(map(_specialization_key_of, values))
        if key not in self.compiled:
            self.compiled[key] = self._compile_for_shapes(values)
        return self.compiled[key](*values)

    def _compile_for_shapes(self, inputs: Sequence[Any]) -> GraphCallable:
        """Retrace the graph with the numbers among `inputs` fixed, and compile it."""
        from torch.fx.experimental.proxy_tensor import make_fx

        numbers = {
            index: each
            for index, each in enumerate(inputs)
            if not isinstance(each, torch.Tensor)
        }
        tensors = [each for each in inputs if isinstance(each, torch.Tensor)]

        def call_with_constants(*given: torch.Tensor) -> Any:
            remaining = iter(given)
            return self.source(
                *(
                    numbers[index] if index in numbers else next(remaining)
                    for index in range(len(inputs))
                )
            )

        with preserve_converted_operations():
            traced = make_fx(call_with_constants, tracing_mode="fake")(*tensors)
        run = _compile_or_fall_back(traced, tensors, self.settings)

        def call_with_tensors(*given: Any) -> Any:
            return run(*(each for each in given if isinstance(each, torch.Tensor)))

        return call_with_tensors


def _is_python_number_input(node: fx.Node) -> bool:
    """
    Return `True` if an input is a Python number, passed as a tensor whose only users
    are `item` calls, as for numpy numbers.
    """
    return bool(node.users) and all(
        user.op == "call_method" and user.target == "item" for user in node.users
    )


def _specialization_key_of(value: Any) -> Any:
    """Return the part of the specialization key for an argument."""
    if not isinstance(value, torch.Tensor):
        return value
    return (tuple(value.shape), value.stride(), value.dtype, value.device)
