"""
The backend `tlf` of `torch.compile`.

    torch.compile(model, backend="tlf", options={"target": "triton"})

Supported operations are compiled; the others stay with PyTorch, and the logger
`tlf.torch` lists the latter. Graphs that need gradients run in PyTorch.
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

from tlf.compiler.api.torch_faults import LOG, Faults
from tlf.compiler.api.torch_parts import Run, compile_graph, operations_of
from tlf.compiler.api.torch_report import REPORT
from tlf.compiler.api.torch_settings import Settings
from tlf.frontend.torch.addressed_views import addresses_memory, erase_restrides
from tlf.frontend.torch.decompositions import (
    Table,
    core_decompositions,
    decompositions,
)
from tlf.frontend.torch.idle_dropout import replace_idle_dropout
from tlf.frontend.torch.whole_operations import kept_whole
from tlf.runtime.triton.device import choose_mode

__all__ = ["REPORT", "tlf"]


def tlf(
    source: fx.GraphModule,
    inputs: Sequence[torch.Tensor],
    *,
    options: Mapping[str, Any] | None = None,
) -> Run:
    """
    Compile a graph that `torch.compile` traced.

    The option `target` is `reference`, `npu`, `triton`, or a target description by its
    name or file; the default is `triton`. The option `numerics` is `strict`, the
    default, or `relaxed`: results may be rounded otherwise, and NaN and infinities
    need not stay. What cannot be compiled PyTorch runs; if `fallback` is `strict`, a
    failure of the compiler raises `FallbackError`. With `check_indices`, PyTorch runs
    what it refuses for some indices or divisors. Reproducers of failures are written
    to the folder `reproducers`.
    """
    settings = Settings.of(options or {})
    if _needs_gradients(source, inputs):
        LOG.warning("a graph that needs gradients runs in PyTorch")
        REPORT.eager.update(operations_of(source))
        return source.forward
    choose_mode()
    if replace_idle_dropout(source.graph):
        source.recompile()
    if not all(map(_is_static, inputs)):
        return _Specialised(source, settings)
    return _compiled(source, inputs, settings)


def _needs_gradients(source: fx.GraphModule, inputs: Sequence[Any]) -> bool:
    """Return `True` if a backward pass may follow."""
    tensors = [each for each in inputs if isinstance(each, torch.Tensor)]
    return torch.is_grad_enabled() and any(
        each.requires_grad for each in (*tensors, *source.parameters())
    )


def _is_static(value: Any) -> bool:
    """Return `True` if an argument is a tensor of static shape."""
    return isinstance(value, torch.Tensor) and all(
        type(extent) is int for extent in value.shape
    )


def _compiled(
    source: fx.GraphModule, inputs: Sequence[torch.Tensor], settings: Settings
) -> Run:
    """A graph as a function on its inputs, which PyTorch runs if tracing it fails."""
    with Faults(settings).told("the graph", source):
        try:
            return _in_operations(source, inputs, settings)
        except WritesSeen:
            LOG.info("the graph stays with PyTorch: it addresses an input it writes to")
        except (DataDependentOutputException, DynamicOutputShapeException) as error:
            LOG.info(
                "the graph stays with PyTorch: it depends on data (%s)", error.func
            )
    REPORT.eager.update(operations_of(source))
    return source.forward


def _in_operations(
    source: fx.GraphModule, inputs: Sequence[torch.Tensor], settings: Settings
) -> Run:
    """
    A graph taken apart as far as PyTorch allows; not at all where it matters how
    results lie, which are then those of its own operations.
    """
    if addresses_memory(source.graph):
        return _traced(source, inputs, settings, {}, is_addressed=True)
    try:
        return _traced(source, inputs, settings, decompositions())
    except NotTraced as error:
        LOG.debug("taken apart by core decompositions alone: %s", error)
    return _traced(source, inputs, settings, core_decompositions())


def _traced(
    source: fx.GraphModule,
    inputs: Sequence[torch.Tensor],
    settings: Settings,
    table: Table,
    *,
    is_addressed: bool = False,
) -> Run:
    """
    A graph taken apart and compiled; `is_addressed` if its program addresses memory.
    Raises `WritesSeen` where such a program writes to an input, and `NotTraced` where
    an operation writes.
    """
    from torch._dynamo.backends.common import aot_autograd

    traced: list[fx.GraphModule] = []

    def inference(graph: fx.GraphModule, _: Sequence[torch.Tensor]) -> Run:
        traced.append(graph)
        if is_addressed and _known("mutated_inp_runtime_indices"):
            raise WritesSeen
        if not is_addressed:
            erase_restrides(graph.graph)
            graph.recompile()
        return _boxed(compile_graph(graph, settings, _weights()))

    compiler: Any = aot_autograd(
        fw_compiler=inference,
        inference_compiler=inference,
        decompositions=table,
        keep_inference_input_mutations=False,
    )
    try:
        with kept_whole():
            return compiler(source, inputs)
    except AssertionError as error:
        # PyTorch asserts that no operation of a graph writes to a tensor.
        if traced:
            raise
        raise NotTraced(str(error)) from error


def _weights() -> Sequence[int]:
    """
    Return the indices of the graph's inputs that are parameters and buffers of a
    module, for the graph being compiled.
    """
    return _known("static_input_indices")


def _known(name: str) -> Sequence[int]:
    """Inputs of which tracing has found out something."""
    context = import_module("torch._guards").TracingContext.try_get()
    metadata = None if context is None else context.fw_metadata
    return () if metadata is None else tuple(getattr(metadata, name) or ())


def _boxed(run: Run) -> Run:
    return import_module("functorch.compile").make_boxed_func(run)


class WritesSeen(Exception):
    """
    A graph takes elements by their places, and writes to an input, of which tracing
    makes a tensor that may lie otherwise.
    """


class NotTraced(Exception):
    """PyTorch traces no graph with some decompositions."""


class _Specialised:
    """
    A graph of shapes that vary: each combination of them is compiled when it first
    comes.
    """

    def __init__(self, source: fx.GraphModule, settings: Settings) -> None:
        self.source = source
        self.settings = settings
        self.compiled: dict[tuple[Any, ...], Run] = {}
        placeholders = source.graph.find_nodes(op="placeholder")
        self.numbers = [_is_number(node) for node in placeholders]

    def __call__(self, *inputs: Any) -> Any:
        given = [
            np.float64(each.item()) if is_number else each
            for each, is_number in zip(inputs, self.numbers, strict=True)
        ]
        key = tuple(map(_kind, given))
        if key not in self.compiled:
            self.compiled[key] = self._compile(given)
        return self.compiled[key](*given)

    def _compile(self, inputs: Sequence[Any]) -> Run:
        from torch.fx.experimental.proxy_tensor import make_fx

        numbers = {
            place: each
            for place, each in enumerate(inputs)
            if not isinstance(each, torch.Tensor)
        }
        tensors = [each for each in inputs if isinstance(each, torch.Tensor)]

        def fixed(*given: torch.Tensor) -> Any:
            rest = iter(given)
            return self.source(
                *(
                    numbers[place] if place in numbers else next(rest)
                    for place in range(len(inputs))
                )
            )

        with kept_whole():
            traced = make_fx(fixed, tracing_mode="fake")(*tensors)
        run = _compiled(traced, tensors, self.settings)

        def call(*given: Any) -> Any:
            return run(*(each for each in given if isinstance(each, torch.Tensor)))

        return call


def _is_number(node: fx.Node) -> bool:
    """
    Return `True` if an input is a number of Python, which comes as a tensor whose only
    use is `item`, as numbers of numpy have it.
    """
    return bool(node.users) and all(
        user.op == "call_method" and user.target == "item" for user in node.users
    )


def _kind(value: Any) -> Any:
    """Return a key that an argument must share with the one that was compiled for."""
    if not isinstance(value, torch.Tensor):
        return value
    return (tuple(value.shape), value.stride(), value.dtype, value.device)
