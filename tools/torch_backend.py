"""
The backend `tlf` of `torch.compile`.

    torch.compile(model, backend="tlf", options={"target": "triton"})

What TLF has is compiled; the rest of the graph stays with PyTorch, and the logger
`tlf.torch` says which operations those are. Graphs that need gradients run in PyTorch.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
import torch
from torch import fx
from xdsl.dialects.builtin import StringAttr

from tlf.dialects.target import Target
from tlf.frontend.torch.convert import name_of
from tlf.frontend.torch.decompositions import decompositions
from tlf.frontend.torch.graph import Function, import_graph, result_orders
from tlf.frontend.torch.partition import partitioned
from tlf.frontend.torch.strides import lying
from tlf.passes.numerics import ATTRIBUTE, Numerics
from tlf.runtime.triton.device import choose_mode
from tlf.tools.compiled import CompiledProgram

LOG = logging.getLogger("tlf.torch")

Run = Callable[..., Any]


@dataclass(frozen=True)
class Settings:
    """What graphs are compiled for."""

    target: str | Target = "triton"
    numerics: Numerics = Numerics.STRICT

    @staticmethod
    def of(options: Mapping[str, Any]) -> Settings:
        """Those that options give. Raises `ValueError`."""
        given = dict(options)
        target: Any = given.pop("target", "triton")
        numerics: Any = given.pop("numerics", Numerics.STRICT)
        if not isinstance(target, str | Target):
            raise ValueError(f"expected the name of a target, got {target}")
        if numerics not in list(Numerics):
            raise ValueError(f"expected numerics `strict` or `relaxed`, got {numerics}")
        if given:
            raise ValueError(
                f"expected the options `target`, `numerics`, got `{next(iter(given))}`"
            )
        return Settings(target, Numerics(numerics))


@dataclass
class Report:
    """What became of the operations of the graphs compiled since it was cleared."""

    compiled: int = 0
    """How many operations TLF computes."""
    eager: Counter[str] = field(default_factory=Counter[str])
    """How often an operation stayed with PyTorch, by its name."""

    def clear(self) -> None:
        """Forget all."""
        self.compiled = 0
        self.eager.clear()


REPORT = Report()
"""Of all graphs of this process."""


class CompiledGraph:
    """A compiled FX graph, called with its inputs in order."""

    def __init__(self, function: Function, settings: Settings) -> None:
        self.function = function
        self.orders = result_orders(function)
        function.module.attributes[ATTRIBUTE] = StringAttr(settings.numerics)
        self.program = CompiledProgram(function.module, settings.target)

    def __call__(self, *inputs: torch.Tensor) -> list[Any]:
        names = self.program.signature.inputs
        values = [inputs[position] for position in self.function.inputs]
        device = next((each.device for each in inputs), torch.device("cpu"))
        results = self.program.run(dict(zip(names, values, strict=True)), True)
        return [
            lying(results[place].to(device), self.orders[place])
            if isinstance(place, int)
            else place.copy()
            for place in self.function.outputs
        ]


def compile_graph(
    source: fx.GraphModule, settings: Settings, parameters: Container[int] = ()
) -> Run:
    """
    Compile the parts of a graph of ATen operations that TLF has; `parameters` are the
    positions of inputs that hold weights. Returns a function from the inputs of the
    graph to its outputs.
    """
    inputs = source.graph.find_nodes(op="placeholder")
    weights = {node.name for at, node in enumerate(inputs) if at in parameters}
    parts = partitioned(source)
    REPORT.compiled += parts.compiled
    REPORT.eager.update(reason.operation for reason in parts.left_out)
    for reason in parts.left_out:
        LOG.info("%s stays with PyTorch: %s", reason.operation, reason.text)
    for name in parts.submodules:
        part = parts.module.get_submodule(name)
        assert isinstance(part, fx.GraphModule)
        taken = part.graph.find_nodes(op="placeholder")
        fixed = [at for at, node in enumerate(taken) if node.name in weights]
        with _real_tensors():
            compiled = CompiledGraph(import_graph(part, parameters=fixed), settings)
        parts.module.delete_submodule(name)
        setattr(parts.module, name, _Part(compiled, part))
    return parts.module.forward


def _real_tensors() -> AbstractContextManager[object]:
    """
    Outside of the tracing that calls a backend, where tensors would be fake: compiled
    programs own memory.
    """
    return import_module("torch.utils._python_dispatch")._disable_current_modes()


class _Part(torch.nn.Module):
    """A compiled graph as a module that another graph calls."""

    def __init__(self, compiled: CompiledGraph, source: fx.GraphModule) -> None:
        super().__init__()
        self.compiled = compiled
        (output,) = source.graph.find_nodes(op="output")
        self.is_single = isinstance(output.args[0], fx.Node)

    def forward(self, *inputs: torch.Tensor) -> Any:
        results = self.compiled(*inputs)
        return results[0] if self.is_single else results


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
    need not stay.
    """
    settings = Settings.of(options or {})
    if _needs_gradients(source, inputs):
        LOG.warning("a graph that needs gradients runs in PyTorch")
        calls = [node for node in source.graph.nodes if node.op.startswith("call")]
        REPORT.eager.update(name_of(node.target) for node in calls)
        return source.forward
    choose_mode()
    if not all(map(_is_static, inputs)):
        return _Specialised(source, settings)
    return _compiled(source, inputs, settings)


def _needs_gradients(source: fx.GraphModule, inputs: Sequence[Any]) -> bool:
    """Whether a backward pass may follow."""
    tensors = [each for each in inputs if isinstance(each, torch.Tensor)]
    return torch.is_grad_enabled() and any(
        each.requires_grad for each in (*tensors, *source.parameters())
    )


def _is_static(value: Any) -> bool:
    """Whether an argument is a tensor whose shape is known."""
    return isinstance(value, torch.Tensor) and all(
        type(extent) is int for extent in value.shape
    )


def _compiled(
    source: fx.GraphModule, inputs: Sequence[torch.Tensor], settings: Settings
) -> Run:
    from torch._dynamo.backends.common import aot_autograd

    def inference(graph: fx.GraphModule, _: Sequence[torch.Tensor]) -> Run:
        return _boxed(compile_graph(graph, settings, _weights()))

    compiler: Any = aot_autograd(
        fw_compiler=inference,
        inference_compiler=inference,
        decompositions=decompositions(),
        keep_inference_input_mutations=False,
    )
    return compiler(source, inputs)


def _weights() -> Sequence[int]:
    """
    Which inputs of the graph being compiled are parameters and buffers of a module.
    """
    context = import_module("torch._guards").TracingContext.try_get()
    known = None if context is None else context.fw_metadata
    return () if known is None else tuple(known.static_input_indices or ())


def _boxed(run: Run) -> Run:
    return import_module("functorch.compile").make_boxed_func(run)


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

        traced = make_fx(fixed, tracing_mode="fake")(*tensors)
        run = _compiled(traced, tensors, self.settings)

        def call(*given: Any) -> Any:
            return run(*(each for each in given if isinstance(each, torch.Tensor)))

        return call


def _is_number(node: fx.Node) -> bool:
    """
    Whether an input is a number of Python, which comes as a tensor of which nothing but
    `item` is asked, as numbers of numpy have it.
    """
    return bool(node.users) and all(
        user.op == "call_method" and user.target == "item" for user in node.users
    )


def _kind(value: Any) -> Any:
    """What an argument must have in common with the one that was compiled for."""
    if not isinstance(value, torch.Tensor):
        return value
    return (tuple(value.shape), value.stride(), value.dtype, value.device)
