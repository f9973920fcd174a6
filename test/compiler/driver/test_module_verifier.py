"""The incremental verifier rejects the same modules as the verifier of modules."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from differential import limit_search, parsed, steps_of
from numpy.random import Generator
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, TensorType, f16, i64
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from tlf.compiler.driver import module_verifier
from tlf.compiler.driver.diagnostics import CompileError
from tlf.compiler.driver.driver import new_context
from tlf.compiler.driver.module_verifier import IncrementalVerifier, verify_module
from tlf.compiler.driver.pass_manager import CLEAN_UP, PassManager, VerifyEach
from tlf.compiler.driver.snapshot import take_snapshot
from tlf.compiler.driver.verified_forms import VerifiedForms
from tlf.dialects.dead_operations import DeadOperationErasurePass
from tlf.dialects.numerics_attribute import NUMERICS_ATTRIBUTE
from tlf.dialects.reporting_pass import ReportingPass
from tlf.dialects.target import load_target_spec
from tlf.lowering.pipelines import PIPELINES

EXAMPLES = Path(__file__).parents[3] / "examples"

STAGES = ("graph-decompose", "graph-group", "convert-tile-to-mem", "convert-mem-to-npu")

Corruption = Callable[[Generator, Operation], None]


@cache
def _stages() -> Mapping[str, ModuleOp]:
    """Return an example after the first passes named in `STAGES`, for a small NPU."""
    target = load_target_spec("npu-tiny")
    context, module = parsed((EXAMPLES / "residual_mlp.mlir").read_text())
    target.attach_to_module(module)
    found: dict[str, ModuleOp] = {}
    for each in map(limit_search, steps_of(target)):
        PassManager([each]).run(context, module)
        if each.name in STAGES:
            found.setdefault(each.name, module.clone())
    return found


def _module_after(stage: str) -> ModuleOp:
    """Return an example after the pass `stage` of the pipeline of a small NPU."""
    return _stages()[stage]


def _exchange_operand(rng: Generator, op: Operation) -> None:
    if op.operands and (block := op.parent) is not None:
        values = [result for each in block.ops for result in each.results]
        if values:
            index = int(rng.integers(len(op.operands)))
            op.operands[index] = values[int(rng.integers(len(values)))]


def _change_result_type(rng: Generator, op: Operation) -> None:
    if op.results:
        other = TensorType(f16, [3]) if rng.random() < 0.5 else i64
        Rewriter.replace_value_with_new_type(op.results[0], other)


def _change_argument_type(rng: Generator, op: Operation) -> None:
    arguments = [
        each for region in op.regions for block in region.blocks for each in block.args
    ]
    if arguments:
        argument = arguments[int(rng.integers(len(arguments)))]
        Rewriter.replace_value_with_new_type(argument, i64)


def _drop_property(rng: Generator, op: Operation) -> None:
    if op.properties:
        names = list(op.properties)
        del op.properties[names[int(rng.integers(len(names)))]]


def _add_stray_attribute(rng: Generator, op: Operation) -> None:
    op.attributes["stray"] = StringAttr("text")


def _erase(rng: Generator, op: Operation) -> None:
    if op.parent is not None and not any(each.uses for each in op.results):
        Rewriter.erase_op(op)


def _move_to_end(rng: Generator, op: Operation) -> None:
    if (block := op.parent) is not None:
        op.detach()
        block.add_op(op)


def _move_to_start(rng: Generator, op: Operation) -> None:
    block = op.parent
    if block is not None and block.first_op is not op:
        op.detach()
        first = block.first_op
        assert first is not None
        block.insert_op_before(op, first)


CORRUPTIONS: list[Corruption] = [
    _exchange_operand,
    _change_result_type,
    _change_argument_type,
    _drop_property,
    _add_stray_attribute,
    _erase,
    _move_to_end,
    _move_to_start,
]


def _is_rejected(verify: Callable[[], object]) -> bool:
    try:
        verify()
    except Exception:
        return True
    return False


@pytest.mark.parametrize("corrupt", CORRUPTIONS, ids=lambda each: each.__name__)
def test_verdicts_are_equal(corrupt: Corruption, draws: Callable[[int], int]):
    rng = np.random.default_rng(11)
    verdicts = [_verdict_after(rng, corrupt, stage) for stage in draws(6) * STAGES]
    assert any(verdicts)


def _verdict_after(rng: Generator, corrupt: Corruption, stage: str) -> bool:
    """Return `True` if both verifiers reject an example after a random corruption."""
    module, verifier = _module_after(stage).clone(), IncrementalVerifier()
    verifier.verify_changes(module)
    operations = [op for op in module.walk() if op is not module]
    corrupt(rng, operations[int(rng.integers(len(operations)))])
    expected = _is_rejected(lambda: verify_module(module))
    assert _is_rejected(lambda: verifier.verify_changes(module)) == expected
    return expected


@dataclass(frozen=True)
class Leave(ModulePass):
    """Changes nothing."""

    name = "leave"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pass


@dataclass(frozen=True)
class Annotate(ModulePass):
    """Changes an attribute of one operation."""

    name = "annotate"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        *_, last = op.walk()
        last.attributes["note.text"] = StringAttr("text")


def test_only_what_changed_is_verified(monkeypatch: pytest.MonkeyPatch):
    module = _module_after("graph-decompose").clone()
    whole: list[ModuleOp] = []
    parts: list[Sequence[Operation]] = []
    monkeypatch.setattr(module_verifier, "verify_module", whole.append)

    def record(_: ModuleOp, operations: Sequence[Operation], __: VerifiedForms) -> None:
        parts.append(operations)

    monkeypatch.setattr(module_verifier, "_verify_operations", record)
    manager = PassManager([Leave(), Annotate(), Leave()])

    manager.run(new_context(), module)
    assert len(whole) == 1
    *_, last = module.walk()
    assert parts == [[module, last.parent_op(), last]]

    manager.run(new_context(), module)
    assert (len(whole), len(parts)) == (1, 1)


@dataclass(frozen=True)
class Convert(Annotate):
    name = "convert-graph-to-tile"


def test_levels_are_verified_after_conversions_and_the_last_pass(
    monkeypatch: pytest.MonkeyPatch,
):
    verified: list[int] = []
    count = 0

    def record(_: IncrementalVerifier, __: ModuleOp) -> bool:
        verified.append(count)
        return True

    def observe(passes: int, _: ModuleOp, __: bool) -> None:
        nonlocal count
        count = passes + 1

    monkeypatch.setattr(IncrementalVerifier, "verify_changes", record)
    module = _module_after("graph-decompose").clone()
    passes = [Annotate(), Convert(), Annotate(), Leave(), Leave()]
    PassManager(passes, VerifyEach.LEVELS, observer=observe).run(new_context(), module)
    assert verified == [0, 2, 5]


def test_all_is_verified_after_each_change(monkeypatch: pytest.MonkeyPatch):
    module = _module_after("graph-decompose").clone()
    whole: list[ModuleOp] = []
    monkeypatch.setattr(module_verifier, "verify_module", whole.append)
    passes = [Leave(), Annotate(), Leave()]
    PassManager(passes, VerifyEach.FULL).run(new_context(), module)
    assert len(whole) == 2


@dataclass(frozen=True)
class CopyWithoutErasure(ModulePass):
    """Leaves a detached copy of an operation, which uses values of the program."""

    name = "copy-without-erasure"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        next(each for each in op.walk() if each.name.startswith("graph.")).clone()


def test_users_are_operations_of_the_program():
    module = _module_after("graph-decompose").clone()
    with pytest.raises(CompileError, match=r"a detached `graph\..*` uses a value"):
        PassManager([CopyWithoutErasure(), Annotate()], VerifyEach.FULL).run(
            new_context(), module
        )


@pytest.mark.parametrize("numerics", ["strict", "relaxed"])
@pytest.mark.parametrize("chip", ["npu-tiny", "h200"])
@pytest.mark.parametrize("name", ["gelu", "residual_mlp"])
def test_passes_leave_valid_programs(name: str, chip: str, numerics: str):
    target = load_target_spec(chip)
    context, module = parsed((EXAMPLES / f"{name}.mlir").read_text())
    target.attach_to_module(module)
    module.attributes[NUMERICS_ATTRIBUTE] = StringAttr(numerics)
    passes = [*map(limit_search, steps_of(target))]
    PassManager(passes, VerifyEach.FULL).run(context, module)


@pytest.mark.parametrize(("name", "expected"), [("dce", 2), ("leave", 4)])
def test_clean_up_waits_for_changes(
    name: str, expected: int, monkeypatch: pytest.MonkeyPatch
):
    applied: list[ModuleOp] = []

    def record(_: Leave, __: Context, op: ModuleOp) -> None:
        applied.append(op)

    monkeypatch.setattr(Leave, "name", name)
    monkeypatch.setattr(Leave, "apply", record)
    module = _module_after("graph-decompose").clone()
    manager = PassManager([Leave(), Leave(), Annotate(), Leave(), Leave()])
    manager.run(new_context(), module)
    assert len(applied) == expected
    assert module.is_structurally_equivalent(applied[0])


def test_reports_agree_with_snapshots():
    target = load_target_spec("npu-tiny")
    context, module = parsed((EXAMPLES / "residual_mlp.mlir").read_text())
    target.attach_to_module(module)
    reports: list[bool] = []
    for each in map(limit_search, steps_of(target)):
        before = take_snapshot(module)
        if isinstance(each, ReportingPass):
            reports.append(each.rewrite(context, module))
            assert (take_snapshot(module) != before) == reports[-1], each.name
        else:
            each.apply(context, module)
    assert {*reports} == {False, True}


def test_passes_that_report_no_change_are_not_verified(
    monkeypatch: pytest.MonkeyPatch,
):
    verified: list[ModuleOp] = []

    def record(_: IncrementalVerifier, module: ModuleOp) -> bool:
        verified.append(module)
        return True

    monkeypatch.setattr(IncrementalVerifier, "verify_changes", record)
    module = ModuleOp([])
    PassManager([DeadOperationErasurePass(), Leave()]).run(new_context(), module)
    assert len(verified) == 2


def test_inner_operations_are_verified_first(monkeypatch: pytest.MonkeyPatch):
    module, verifier = (
        _module_after("convert-tile-to-mem").clone(),
        IncrementalVerifier(),
    )
    verifier.verify_changes(module)
    for number, op in enumerate(module.walk()):
        op.attributes["note.text"] = StringAttr(str(number))
    verified = _record_verified_operations(monkeypatch)
    assert verifier.verify_changes(module)
    assert verified == list(module.walk(region_first=True))


def _record_verified_operations(monkeypatch: pytest.MonkeyPatch) -> list[Operation]:
    """Return a list of the operations that are verified from now on."""
    verified: list[Operation] = []

    def record(op: Operation, verify_nested_ops: bool) -> None:
        assert not verify_nested_ops
        verified.append(op)

    monkeypatch.setattr(Operation, "verify", record)
    return verified


LAYERS = """
func.func @main(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %y0 = graph.matmul %x, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %z0 = graph.relu %y0 : tensor<8x8xf32>
  %y1 = graph.matmul %z0, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %z1 = graph.relu %y1 : tensor<8x8xf32>
  %y2 = graph.matmul %z1, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %z2 = graph.relu %y2 : tensor<8x8xf32>
  return %z2 : tensor<8x8xf32>
}
"""


def test_repeated_layers_are_verified_once(monkeypatch: pytest.MonkeyPatch):
    _, module = parsed(LAYERS)
    verifier = IncrementalVerifier()
    verifier.verify_changes(module)
    for op in module.walk():
        op.attributes["note.text"] = StringAttr("text")
    verified = _record_verified_operations(monkeypatch)
    assert verifier.verify_changes(module)
    # The first product reads arguments, all others the result of a layer.
    names = [op.name for op in verified if op.name.startswith("graph.")]
    assert names == ["graph.matmul", "graph.relu", "graph.matmul"]


def _give_operand_of_other_type(module: ModuleOp) -> None:
    *_, last = (op for op in module.walk() if op.name == "graph.matmul")
    Rewriter.replace_value_with_new_type(last.operands[1], TensorType(f16, [3]))


def _swap_definition_and_use(module: ModuleOp) -> None:
    *_, first, second, _ = (op for op in module.walk() if op.name.startswith("graph."))
    first.detach()
    assert second.parent is not None
    second.parent.insert_op_after(first, second)


def _end_body_without_terminator(module: ModuleOp) -> None:
    *_, last = module.walk()
    last.detach()


@pytest.mark.parametrize(
    "corrupt",
    [
        _give_operand_of_other_type,
        _swap_definition_and_use,
        _end_body_without_terminator,
    ],
)
def test_changes_of_verified_forms_are_rejected(corrupt: Callable[[ModuleOp], None]):
    _, module = parsed(LAYERS)
    verifier = IncrementalVerifier()
    verifier.verify_changes(module)
    for op in module.walk():
        op.attributes["note.text"] = StringAttr("text")
    verifier.verify_changes(module)
    corrupt(module)
    assert _is_rejected(lambda: verifier.verify_changes(module))


def test_clean_up_passes_are_those_of_the_pipeline():
    assert ",".join(CLEAN_UP) == PIPELINES["tidy"]
