"""
Check one problem of KernelBench against PyTorch, at its own size or a smaller one.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tlf.compiler.api.torch_module import compile_module

TOLERANCE = 1e-4
"""Relative and absolute tolerance of KernelBench for f32."""

STORAGE = frozenset(
    "alias clone contiguous copy_ detach empty lift_fresh new_empty set_ view".split(),
)
"""Operations that move tensors without computing values."""

MOST_PARAMETERS = 2**28
"""Most parameters of a shrunk problem: simulated chips read 1 GB in minutes."""

Rule = Callable[[str, int], int]

seed: Callable[[int], object] = getattr(torch, "manual_seed")


@dataclass(frozen=True)
class ProblemOutcome:
    """Outcome of a problem: a status word and a line of text."""

    status: str
    text: str = ""


def halve_to(value: int, most: int) -> int:
    """Return a number halved until it is at most `most`; an odd number stays odd."""
    odd = value % 2
    while value > most:
        value = (value + odd) // 2
        if odd and value % 2 == 0:
            value -= 1
    return value


def _shrink_all(most: int) -> Rule:
    def rule(name: str, value: int) -> int:
        return halve_to(value, 2 if "batch" in name.lower() else most)

    return rule


def _shrink_batch(name: str, value: int) -> int:
    return min(value, 2) if "batch" in name.lower() else value


def _original_size(name: str, value: int) -> int:
    return value


FULL_SIZE: tuple[str, Rule] = "full size", _original_size


RULES: Sequence[tuple[str, Rule]] = (
    ("sizes up to 32", _shrink_all(32)),
    ("sizes up to 64", _shrink_all(64)),
    ("sizes up to 256", _shrink_all(256)),
    ("all numbers up to 32", lambda _, value: halve_to(value, 32)),
    ("batch of 2", _shrink_batch),
)
"""
Rules that shrink sizes by halving the integers of the module.

The first rule with which PyTorch runs the problem, with at most `MOST_PARAMETERS`, is
used. For the whole networks of level 3 the order is reversed, because normalisation
over few elements magnifies rounding.
"""


class _Shrink(ast.NodeTransformer):
    """Rewriter of integers, and tuples of integers, that a module assigns to names."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        names = [each.id for each in node.targets if isinstance(each, ast.Name)]
        for each in ast.walk(node.value):
            if isinstance(each, ast.Constant) and type(each.value) is int and names:
                each.value = self.rule(names[-1], each.value)
        return node


@dataclass(frozen=True)
class Problem:
    """Module and its inputs."""

    model: torch.nn.Module
    inputs: Sequence[Any]
    rule: str


def load_problem(file: Path, rule: Rule, name: str) -> Problem:
    """Run the source of a problem, its sizes shrunk by a rule."""
    tree = _Shrink(rule).visit(ast.parse(file.read_text(encoding="utf-8")))
    names: dict[str, Any] = {"__name__": file.stem}
    exec(compile(tree, str(file), "exec"), names)
    seed(0)
    model = names["Model"](*names["get_init_inputs"]())
    seed(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    with torch.device(device):
        inputs = [_to_device(device, each) for each in names["get_inputs"]()]
    return Problem(model.to(device), inputs, name)


def _to_device(device: str, value: Any) -> Any:
    return value.to(device) if isinstance(value, torch.Tensor) else value


def load_full_size(file: Path) -> Problem:
    """Run the source of a problem at its original sizes."""
    name, rule = FULL_SIZE
    return load_problem(file, rule, name)


def candidate_problems(file: Path, full_size: bool) -> Iterator[Problem]:
    """Yield the problem at each size that PyTorch runs, in order."""
    rules = RULES[::-1] if file.parent.name == "level3" else RULES
    rules = [FULL_SIZE] if full_size else rules
    for name, rule in rules:
        try:
            problem = load_problem(file, rule, name)
            if not full_size and _count_parameters(problem.model) > MOST_PARAMETERS:
                continue
            with torch.no_grad():
                problem.model(*problem.inputs)
            yield load_problem(file, rule, name)
        except Exception:
            continue


def _count_parameters(model: torch.nn.Module) -> int:
    return sum(each.numel() for each in model.parameters())


class OperationRecorder(TorchDispatchMode):
    """Recorder of the operations that PyTorch computes."""

    def __init__(self) -> None:
        cast(Any, super()).__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if func.overloadpacket.__name__ not in STORAGE:
            self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


def check_problem(file: Path, target: str, full_size: bool) -> ProblemOutcome:
    """Import, compile and run one problem, and compare it with PyTorch."""
    torch.set_num_threads(1)
    torch.backends.cudnn.allow_tf32 = False
    problem = next(candidate_problems(file, full_size), None)
    if problem is None:
        return ProblemOutcome("skipped", "PyTorch does not run it at any size")
    try:
        with torch.no_grad():
            return _compare_results(problem, target)
    except Exception as error:
        text = " ".join(str(error).split()) or type(error).__name__
        return ProblemOutcome("failed", f"{type(error).__name__}: {text}"[:200])


def _compare_results(problem: Problem, target: str) -> ProblemOutcome:
    compiled = compile_module(problem.model, problem.inputs, target=target)
    with OperationRecorder() as recorder:
        results = compiled(*problem.inputs)
    if recorder.seen:
        return ProblemOutcome("eager", ", ".join(sorted(set(recorder.seen))))
    exact_model = copy.deepcopy(problem.model)
    expected = _as_tensors(problem.model(*problem.inputs))
    for index, (actual, reference) in enumerate(
        zip(_as_tensors(results), expected, strict=True)
    ):
        if actual.shape != reference.shape or actual.dtype != reference.dtype:
            return ProblemOutcome(
                "wrong", f"{reference.dtype} expected, got {actual.dtype}"
            )
        if not torch.allclose(actual, reference, TOLERANCE, TOLERANCE, equal_nan=True):
            exact = _as_tensors(exact_model.double()(*map(_to_f64, problem.inputs)))[
                index
            ]
            return _classify_mismatch(
                _distance(actual, exact), _distance(reference, exact), problem
            )
    return ProblemOutcome("right", problem.rule)


def _classify_mismatch(mine: float, theirs: float, problem: Problem) -> ProblemOutcome:
    """
    Return the outcome of a result outside the tolerance, from its distance to f64.

    The outcome is unstable if the distance is at most twice PyTorch's.
    """
    text = f"{mine:.2g} from f64, PyTorch {theirs:.2g}, {problem.rule}"
    return ProblemOutcome("unstable" if mine <= 2 * theirs else "wrong", text)


def _distance(found: torch.Tensor, exact: torch.Tensor) -> float:
    return (found.double() - exact.double()).abs().max().item()


def _to_f64(value: Any) -> Any:
    """Convert a floating-point tensor to f64."""
    is_float = isinstance(value, torch.Tensor) and value.is_floating_point()
    return value.double() if is_float else value


def _as_tensors(value: Any) -> list[torch.Tensor]:
    return [value] if isinstance(value, torch.Tensor) else list(value)
