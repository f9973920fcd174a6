"""Operations of PyTorch's OpInfo database, and samples of their arguments."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, cast

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

UNINITIALISED = frozenset(
    "empty empty_like empty_permuted empty_strided new_empty new_empty_strided".split()
)
"""Operations whose results have undefined elements."""

ORDERING = frozenset("argsort sort topk".split())
"""Operations that may select any of several equal elements."""

UNDECLARED = frozenset(["unsafe_chunk", "unsafe_split"])
"""Operations whose results share memory without being declared as views."""

seed_torch: Callable[[int], object] = getattr(torch, "manual_seed")


@dataclass(frozen=True)
class SampleChoice:
    """Selection of the samples of an operation."""

    count: int = 0
    """Maximum number of samples; 0 selects all."""
    seed: int | None = None
    """Seed of a random selection; without a seed, the first samples are selected."""


@dataclass(frozen=True)
class Sample:
    """Call of an operation."""

    index: int
    """Index among all samples of the operation."""
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    options: Mapping[str, Any]

    def copy_tensors(self) -> Sample:
        """Return the call on copies of its tensors, with the same memory layout."""
        arguments, options = copy_tree((self.arguments, dict(self.options)))
        return Sample(self.index, self.function, arguments, options)

    def to_f64(self, dtype: torch.dtype) -> Sample:
        """
        Return the call with tensors and dtype arguments of `dtype` changed to f64.
        """

        def promote(leaf: Any) -> Any:
            if isinstance(leaf, torch.Tensor) and leaf.dtype == dtype:
                return leaf.to(torch.float64)
            return torch.float64 if leaf == dtype else leaf

        arguments, options = map_leaves(promote, (self.arguments, dict(self.options)))
        return Sample(self.index, self.function, arguments, options)

    def run(self, seed: int = 0) -> Any:
        """Return the result of PyTorch, with random numbers from a seed."""
        seed_torch(seed)
        return self.function(*self.arguments, **self.options)

    def __str__(self) -> str:
        """Return the shapes and numbers of the call."""
        arguments = [_format_value(each) for each in self.arguments]
        options = [
            f"{name}={_format_value(each)}" for name, each in self.options.items()
        ]
        return ", ".join([*arguments, *options])


def _format_value(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        strides = "" if value.layout != torch.strided else _format_strides(value)
        shape = ",".join(map(str, value.shape))
        return f"{str(value.dtype).removeprefix('torch.')}[{shape}]{strides}"
    if isinstance(value, list | tuple):
        return (
            f"[{', '.join(_format_value(each) for each in cast(Sequence[Any], value))}]"
        )
    return repr(value)


def _format_strides(value: torch.Tensor) -> str:
    return "" if value.is_contiguous() else f" strides {tuple(value.stride())}"


def map_leaves(function: Callable[[Any], Any], tree: Any) -> Any:
    """Return a tree with `function` applied to each leaf."""
    leaves, spec = pytree.tree_flatten(tree)
    return pytree.tree_unflatten([function(leaf) for leaf in leaves], spec)


def copy_tree(tree: Any) -> Any:
    """Return a copy of a tree that preserves aliasing between its own tensors."""
    storages: dict[int, Any] = {}

    def copy(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor):
            return leaf
        if leaf.layout != torch.strided or leaf.is_conj() or leaf.is_neg():
            return leaf.clone()
        storage = leaf.untyped_storage()
        if (key := storage.data_ptr()) not in storages or key == 0:
            storages[key] = storage.clone()
        tensor: Any = torch.empty(0, dtype=leaf.dtype)
        offset, shape, strides = leaf.storage_offset(), leaf.shape, leaf.stride()
        return tensor.set_(storages[key], offset, shape, strides)

    return map_leaves(copy, tree)


@cache
def operations() -> Mapping[str, Any]:
    """Return the entries of the database, by their full names."""
    library: Any = import_module("torch.testing._internal.common_methods_invocations")
    return {name_of(each): each for each in library.op_db}


def name_of(operation: Any) -> str:
    """Return the name of an entry, with the name of its variant."""
    return f"{operation.name}.{operation.variant_test_name}".removesuffix(".")


def samples_of(
    operation: Any, dtype: torch.dtype, choice: SampleChoice
) -> Sequence[Sample]:
    """Return the selected calls of an operation, deterministically."""
    return list(_select_samples(operation, dtype, choice))


def _select_samples(
    operation: Any, dtype: torch.dtype, choice: SampleChoice
) -> Iterator[Sample]:
    random.seed(0)
    seed_torch(0)
    inputs = operation.sample_inputs("cpu", dtype, requires_grad=False)
    selected = enumerate(inputs)
    if choice.count and choice.seed is not None:
        all_samples = list(selected)
        key = f"{choice.seed} {name_of(operation)} {dtype}"
        chosen = random.Random(key).sample(
            all_samples, min(choice.count, len(all_samples))
        )
        selected = iter(sorted(chosen, key=lambda each: each[0]))
    for position, (index, each) in enumerate(selected):
        if choice.count and position == choice.count:
            return
        yield Sample(index, operation, (each.input, *each.args), dict(each.kwargs))


def skip_reason(operation: Any, dtype: torch.dtype) -> str | None:
    """
    Return the reason that an operation is not run in a type, or `None` if it is run.
    """
    if not operation.supports_dtype(dtype, "cpu"):
        return "PyTorch has it not in this type"
    if operation.name in UNDECLARED:
        return "its results share memory, though its schema says that they do not"
    return None


class _RandomnessRecorder(TorchDispatchMode):
    """Recorder of operations that draw random numbers."""

    def __init__(self) -> None:
        cast(Any, super()).__init__()
        self.found = False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        self.found |= torch.Tag.nondeterministic_seeded in func.tags
        return func(*args, **(kwargs or {}))


def is_random(sample: Sample) -> bool:
    """Return `True` if a call draws random numbers."""
    with _RandomnessRecorder() as recorder:
        sample.copy_tensors().run()
    return recorder.found


def tolerance_of(operation: Any, dtype: torch.dtype) -> tuple[float, float]:
    """
    Return the relative and absolute tolerance of an operation in a type.

    The maximum of the `assert_close` defaults and of the database's tolerances for
    tests that compare two implementations.
    """
    comparison: Any = import_module("torch.testing._comparison")
    relative, absolute = comparison.default_tolerances(dtype)
    for decorator, owner in _test_decorators(operation, dtype):
        if owner in _COMPARING and dtype in (
            overrides := _tolerance_overrides(decorator)
        ):
            absolute = max(absolute, overrides[dtype].atol)
            relative = max(relative, overrides[dtype].rtol)
    return relative, absolute


_COMPARING = frozenset([None, "TestCommon", "TestDecomp", "TestInductorOpInfo"])
"""PyTorch test classes that compare implementations; `None` means all tests."""


def _test_decorators(
    operation: Any, dtype: torch.dtype
) -> Iterator[tuple[object, str | None]]:
    """
    Yield the decorators of the database's CPU tests in a type, with their test class.
    """
    for each in operation.decorators or ():
        if not hasattr(each, "decorators"):
            yield each, None
        elif each.device_type in (None, "cpu") and dtype in (each.dtypes or [dtype]):
            for decorator in each.decorators:
                yield decorator, each.cls_name


def _tolerance_overrides(decorator: object) -> Mapping[torch.dtype, Any]:
    """
    Return the tolerances by type of an override decorator; empty for other decorators.
    """
    library: Any = import_module("torch.testing._internal.common_device_type")
    if isinstance(decorator, library.toleranceOverride):
        return cast(Any, decorator).d
    return {}
