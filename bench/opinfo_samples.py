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
"""Operations whose elements mean nothing."""

ORDERING = frozenset("argsort sort topk".split())
"""Operations that may take any of equal elements."""

UNDECLARED = frozenset(["unsafe_chunk", "unsafe_split"])
"""Operations whose results share memory without being declared as views."""

seed_torch: Callable[[int], object] = getattr(torch, "manual_seed")


@dataclass(frozen=True)
class SampleChoice:
    """Choice of the samples of an operation."""

    count: int = 0
    """Maximum number of samples; 0 is all."""
    seed: int | None = None
    """Seed of a random choice; the first samples are chosen without it."""


@dataclass(frozen=True)
class Sample:
    """A call of an operation."""

    index: int
    """Its number among all samples of the operation."""
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    options: Mapping[str, Any]

    def copy_tensors(self) -> Sample:
        """The same call on tensors of its own, which lie in memory in the same way."""
        arguments, options = copy_tree((self.arguments, dict(self.options)))
        return Sample(self.index, self.function, arguments, options)

    def to_f64(self, dtype: torch.dtype) -> Sample:
        """The same call in f64, where it is in a type."""

        def promote(leaf: Any) -> Any:
            if isinstance(leaf, torch.Tensor) and leaf.dtype == dtype:
                return leaf.to(torch.float64)
            return torch.float64 if leaf == dtype else leaf

        arguments, options = map_leaves(promote, (self.arguments, dict(self.options)))
        return Sample(self.index, self.function, arguments, options)

    def run(self, seed: int = 0) -> Any:
        """The result, by PyTorch, and random numbers from a seed."""
        seed_torch(seed)
        return self.function(*self.arguments, **self.options)

    def __str__(self) -> str:
        """The shapes and the numbers of the call."""
        given = [_format_value(each) for each in self.arguments]
        named = [f"{name}={_format_value(each)}" for name, each in self.options.items()]
        return ", ".join([*given, *named])


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
    """A tree with what `function` makes of each leaf."""
    leaves, spec = pytree.tree_flatten(tree)
    return pytree.tree_unflatten([function(leaf) for leaf in leaves], spec)


def copy_tree(tree: Any) -> Any:
    """A tree whose tensors share memory with each other as before, and no other."""
    storages: dict[int, Any] = {}

    def copy(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor):
            return leaf
        if leaf.layout != torch.strided or leaf.is_conj() or leaf.is_neg():
            return leaf.clone()
        storage = leaf.untyped_storage()
        if (key := storage.data_ptr()) not in storages or key == 0:
            storages[key] = storage.clone()
        made: Any = torch.empty(0, dtype=leaf.dtype)
        place, shape, strides = leaf.storage_offset(), leaf.shape, leaf.stride()
        return made.set_(storages[key], place, shape, strides)

    return map_leaves(copy, tree)


@cache
def operations() -> Mapping[str, Any]:
    """The entries of the database, by their full names."""
    library: Any = import_module("torch.testing._internal.common_methods_invocations")
    return {name_of(each): each for each in library.op_db}


def name_of(operation: Any) -> str:
    """The name of an entry, and of its variant."""
    return f"{operation.name}.{operation.variant_test_name}".removesuffix(".")


def samples_of(
    operation: Any, dtype: torch.dtype, choice: SampleChoice
) -> Sequence[Sample]:
    """Calls of an operation; the same ones each time."""
    return list(_select_samples(operation, dtype, choice))


def _select_samples(
    operation: Any, dtype: torch.dtype, choice: SampleChoice
) -> Iterator[Sample]:
    random.seed(0)
    seed_torch(0)
    source = operation.sample_inputs("cpu", dtype, requires_grad=False)
    found = enumerate(source)
    if choice.count and choice.seed is not None:
        every = list(found)
        key = f"{choice.seed} {name_of(operation)} {dtype}"
        chosen = random.Random(key).sample(every, min(choice.count, len(every)))
        found = iter(sorted(chosen, key=lambda each: each[0]))
    for number, (place, each) in enumerate(found):
        if choice.count and number == choice.count:
            return
        yield Sample(place, operation, (each.input, *each.args), dict(each.kwargs))


def skip_reason(operation: Any, dtype: torch.dtype) -> str | None:
    """Return why an operation is not run in a type; None if it is."""
    if not operation.supports_dtype(dtype, "cpu"):
        return "PyTorch has it not in this type"
    if operation.name in UNDECLARED:
        return "its results share memory, though its schema says that they do not"
    return None


class _RandomnessRecorder(TorchDispatchMode):
    """Notes whether an operation draws random numbers."""

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
    with _RandomnessRecorder() as draws:
        sample.copy_tensors().run()
    return draws.found


def tolerance_of(operation: Any, dtype: torch.dtype) -> tuple[float, float]:
    """
    The relative and absolute tolerance, those of `assert_close` by type, or what the
    database has for tests that compare one implementation with another.
    """
    comparison: Any = import_module("torch.testing._comparison")
    relative, absolute = comparison.default_tolerances(dtype)
    for decorator, owner in _test_decorators(operation, dtype):
        if owner in _COMPARING and dtype in (known := _tolerance_overrides(decorator)):
            absolute = max(absolute, known[dtype].atol)
            relative = max(relative, known[dtype].rtol)
    return relative, absolute


_COMPARING = frozenset([None, "TestCommon", "TestDecomp", "TestInductorOpInfo"])
"""Of PyTorch's tests, those that compare implementations; none is all of them."""


def _test_decorators(
    operation: Any, dtype: torch.dtype
) -> Iterator[tuple[object, str | None]]:
    """
    Yield the decorators of the database's tests, on a CPU and in a type, with the name
    of the test class of each.
    """
    for each in operation.decorators or ():
        if not hasattr(each, "decorators"):
            yield each, None
        elif each.device_type in (None, "cpu") and dtype in (each.dtypes or [dtype]):
            for decorator in each.decorators:
                yield decorator, each.cls_name


def _tolerance_overrides(decorator: object) -> Mapping[torch.dtype, Any]:
    """The tolerances by type that a decorator gives; none for others."""
    library: Any = import_module("torch.testing._internal.common_device_type")
    if isinstance(decorator, library.toleranceOverride):
        return cast(Any, decorator).d
    return {}
