"""
Check one call of an operation through TLF against PyTorch.

The way `backend` follows `torch.compile(backend="tlf")` without Dynamo, whose tracing
would dominate the run time: a graph with one call of the operation, its non-tensor
arguments constant, goes to the backend, which traces, decomposes, splits and compiles
it. If the backend raises, as for data-dependent shapes, or has a wrong result,
`torch.compile` itself decides. The way `compile` is `tlf.compile` on a module with that
one call. A difference that PyTorch's own uncompiled trace also has is not a fault of
TLF; a compile error is a fault even if PyTorch could fall back.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import torch
from opinfo_compare import ResultComparison
from opinfo_samples import (
    ORDERING,
    UNINITIALISED,
    Sample,
    is_random,
    seed_torch,
    tolerance_of,
)
from torch import fx
from torch.utils import _pytree as pytree
from xdsl.utils.exceptions import DiagnosticException, PassFailedException

from tlf.compiler.api.torch_backend import REPORT, tlf
from tlf.compiler.api.torch_module import compile_module
from tlf.frontend.torch.import_errors import ImportFailure

WAYS = ("backend", "compile")

_LIBRARY: Any = torch


@dataclass(frozen=True)
class CallOutcome:
    """Outcome of a call: a status word and a line of text."""

    status: str
    """
    `tlf`, `mixed`, `pytorch` or `refused`, by who computed the result; or a fault:
    `wrong`, `crash` or `hang`; or `skipped`.
    """
    text: str = ""


_Run = Callable[[Sample, str], tuple[Any, str]]
"""Function from a call and a target to the result and who computed it."""

FAULTS = ("wrong", "crash", "hang")


class CallModule(torch.nn.Module):
    """Module that wraps an operation."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *arguments: Any, **options: Any) -> Any:
        return self.function(*arguments, **options)


def check_call(
    sample: Sample, operation: Any, dtype: torch.dtype, way: str, target: str
) -> CallOutcome:
    """Run a call in TLF and in PyTorch, and compare the results."""
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        try:
            reference = _ReferenceCall.of(sample, operation, dtype, way)
        except Exception as error:
            return CallOutcome("skipped", f"PyTorch raises {_format_error(error)}")
        if is_random(sample):
            return CallOutcome("skipped", "it draws random numbers")
        for run in _RUNS[way][:-1]:
            with suppress(Exception):
                if (outcome := reference.check_run(run, target)).status not in FAULTS:
                    return outcome
        try:
            return reference.check_run(_RUNS[way][-1], target)
        except Exception as error:
            return _classify_error(error, way)


@dataclass(frozen=True)
class _ReferenceCall:
    """Reference for a call: PyTorch's results and mutated arguments."""

    sample: Sample
    way: str
    eager: Sample
    """The call with its arguments after the run in PyTorch."""
    expected: Any
    exact: Callable[[], tuple[Any, Any] | None]
    """Return results and arguments after the call in f64, or `None`."""
    comparison: ResultComparison

    @staticmethod
    def of(
        sample: Sample, operation: Any, dtype: torch.dtype, way: str
    ) -> _ReferenceCall:
        """Run the call in PyTorch."""
        eager = sample.copy_tensors()
        expected = eager.run()
        exact = cache(partial(_run_in_f64, sample, operation, dtype))
        comparison = ResultComparison(
            tolerance_of(operation, dtype),
            lambda: None if (call := exact()) is None else call[0],
            operation.name not in UNINITIALISED,
            sample.arguments[0] if operation.name in ORDERING else None,
        )
        return _ReferenceCall(sample, way, eager, expected, exact, comparison)

    def check_run(self, run: _Run, target: str) -> CallOutcome:
        """Run the call, and compare its results with PyTorch."""
        call = self.sample.copy_tensors()
        results, status = run(call, target)
        text = self.difference(call, results)
        if text is None or self.is_trace_difference(text):
            return CallOutcome(status)
        return CallOutcome("wrong", text)

    def difference(self, mine: Sample, found: Any) -> str | None:
        """
        Return the difference from PyTorch of a result or of the arguments after the
        call, or `None` if there is none.
        """
        text = self.comparison.difference(found, self.expected)
        if text is not None:
            return text
        comparison = replace(
            self.comparison,
            exact=lambda: None if (call := self.exact()) is None else call[1],
        )
        text = comparison.difference(
            (mine.arguments, mine.options), (self.eager.arguments, self.eager.options)
        )
        if text is not None:
            return f"arguments after the call: {text}"
        if self.way == "backend":
            return _aliasing_difference(mine, found, self.eager, self.expected)
        return None

    def is_trace_difference(self, text: str) -> bool:
        """Return `True` if PyTorch's own trace has the same difference."""
        call = self.sample.copy_tensors()
        try:
            return self.difference(call, _TRACED[self.way](call)) == text
        except Exception:
            return False


def _classify_error(error: Exception, way: str) -> CallOutcome:
    """
    Return the outcome of an exception in TLF.

    A refusal is valid for modules, but not for graphs, which may fall back to PyTorch.
    """
    error = getattr(error, "inner_exception", error)
    expected = ImportFailure | PassFailedException | DiagnosticException
    text = str(error)
    is_line = "\n" not in text and "internal error" not in text
    if way == "compile" and isinstance(error, expected) and is_line:
        return CallOutcome("refused", text)
    return CallOutcome("crash", _format_error(error))


def _format_error(error: BaseException) -> str:
    """Return the type, text and source location of an exception."""
    trace, location = error.__traceback__, ""
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if "/tlf/" in file:
            location = f" ({file.rpartition('/tlf/')[2]}:{trace.tb_lineno})"
        trace = trace.tb_next
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:300] + location


def _run_in_f64(
    sample: Sample, operation: Any, dtype: torch.dtype
) -> tuple[Any, Any] | None:
    """
    Return the results and the arguments after the call in f64, or `None` if PyTorch
    cannot compute them.
    """
    if not dtype.is_floating_point or not operation.supports_dtype(torch.double, "cpu"):
        return None
    call = sample.copy_tensors().to_f64(dtype)
    try:
        return call.run(), (call.arguments, call.options)
    except Exception:
        return None


def _aliasing_difference(
    mine: Sample, found: Any, eager: Sample, expected: Any
) -> str | None:
    """
    Return the difference from PyTorch in aliasing of tensors, or `None` if there is
    none.
    """
    actual_pairs = set(_aliased_positions((mine.arguments, mine.options), found))
    expected_pairs = set(_aliased_positions((eager.arguments, eager.options), expected))
    if actual_pairs == expected_pairs:
        return None
    text = "aliasing: expected results that share memory with arguments as"
    return f"{text} {sorted(expected_pairs)}, got {sorted(actual_pairs)}"


def _aliased_positions(arguments: Any, results: Any) -> Iterator[tuple[int, int]]:
    """Yield the indices of each result and the argument that it shares memory with."""
    keys = [_memory_key(each) for each in pytree.tree_leaves(arguments)]
    for index, each in enumerate(pytree.tree_leaves(results)):
        if (memory := _memory_key(each)) is not None and memory in keys:
            yield index, keys.index(memory)


def _memory_key(leaf: object) -> int | None:
    """
    Return a key that identifies the memory of a tensor, or `None` if it has no memory.
    """
    if not isinstance(leaf, torch.Tensor) or leaf.layout != torch.strided:
        return None
    return leaf.untyped_storage().data_ptr() or None


def _run_backend(sample: Sample, target: str) -> tuple[Any, str]:
    """Call the backend on a graph of the call."""
    REPORT.clear()
    graph = _CallGraph(sample)
    run = tlf(graph.module, graph.tensors, options=_backend_options(target))
    seed_torch(0)
    results = pytree.tree_unflatten(run(*graph.tensors), graph.result_spec())
    return results, _compile_status() or "tlf"


def _backend_options(target: str) -> Mapping[str, Any]:
    """Return backend options under which it compiles anew and raises its own errors."""
    return {
        "target": target,
        "fallback": "strict",
        "reproducers": os.devnull,
        "cache": False,
    }


def _run_dynamo(sample: Sample, target: str) -> tuple[Any, str]:
    REPORT.clear()
    results = _run_compiled(sample, backend=tlf, options=_backend_options(target))
    return results, _compile_status() or "pytorch"


def _run_compiled(sample: Sample, **settings: Any) -> Any:
    """Return the result of `torch.compile`."""
    _LIBRARY.compiler.reset()
    compiled = _LIBRARY.compile(sample.function, **settings)
    seed_torch(0)
    return compiled(*sample.arguments, **sample.options)


def _run_exported(sample: Sample) -> Any:
    """Return the result of `torch.export`."""
    module, example = CallModule(sample.function), sample.copy_tensors()
    arguments, options = example.arguments, dict(example.options)
    program = torch.export.export(module, arguments, options, strict=False)
    return program.module()(*sample.arguments, **sample.options)


def _compile_status() -> str | None:
    """
    Return the status of the graphs compiled last, or `None` if they had no operations.
    """
    if not REPORT.eager:
        return "tlf" if REPORT.compiled else None
    return "mixed" if REPORT.compiled else "pytorch"


def _run_module(sample: Sample, target: str) -> tuple[Any, str]:
    """Compile and run a module of the call."""
    module = CallModule(sample.function)
    example = sample.copy_tensors()
    compiled = compile_module(module, example.arguments, example.options, target)
    return compiled(*sample.arguments, **sample.options), "tlf"


_RUNS: Mapping[str, Sequence[_Run]] = {
    "backend": (_run_backend, _run_dynamo),
    "compile": (_run_module,),
}
"""Runs of each way; the last one decides, unless an earlier one finds no fault."""

_TRACED: Mapping[str, Callable[[Sample], Any]] = {
    "backend": partial(_run_compiled, backend="aot_eager"),
    "compile": _run_exported,
}
"""PyTorch's own run of the trace, by way."""


class _CallGraph:
    """Call as a graph whose inputs are its distinct tensors."""

    def __init__(self, sample: Sample) -> None:
        self.sample = sample
        tree = (sample.arguments, dict(sample.options))
        self.leaves, self.spec = pytree.tree_flatten(tree)
        tensors = {
            id(each): each for each in self.leaves if isinstance(each, torch.Tensor)
        }
        self.places = {key: index for index, key in enumerate(tensors)}
        self.tensors: Sequence[torch.Tensor] = list(tensors.values())
        self._result_spec: pytree.TreeSpec | None = None
        graph = fx.Graph()
        inputs = [graph.placeholder(f"x{index}") for index in range(len(tensors))]
        graph.output(graph.call_function(self._call_function, tuple(inputs)))
        self.module = fx.GraphModule(torch.nn.Module(), graph)

    def _call_function(self, *tensors: torch.Tensor) -> Any:
        leaves = [
            tensors[self.places[id(each)]] if isinstance(each, torch.Tensor) else each
            for each in self.leaves
        ]
        arguments, options = pytree.tree_unflatten(leaves, self.spec)
        tree = self.sample.function(*arguments, **options)
        results, self._result_spec = pytree.tree_flatten(tree)
        return results

    def result_spec(self) -> pytree.TreeSpec:
        """Return the structure of the result; known after tracing."""
        assert self._result_spec is not None
        return self._result_spec
