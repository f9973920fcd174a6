"""Nothing that a pass decides depends on what was imported, or on other threads."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from differential import parsed
from kept_groups import run_passes
from xdsl.context import Context

from tlf.dialects.target import load_target_spec
from tlf.planner.context import Memo, PlanningContext, evaluator_of, memo_of

TARGET = "npu"

PROGRAM = Path(__file__).parents[2] / "examples" / "matmul_bias_relu.mlir"
"""Plans of it are others where nothing evaluates them."""

SCRIPT = """
import sys
for name in {modules}:
    __import__(name)
from tlf.tools.tlf_opt import main
sys.argv = ["tlf-opt"]
main([{program!r}, "--target", {target!r}, "-p", {passes!r}])
"""
PASSES = "graph-group{level=L2},graph-partition{level=L2 max-evaluations=4}"
ORDERS: tuple[list[str], ...] = (
    ["tlf.passes.plan.graph_partition", "tlf.lowering"],
    ["tlf.lowering.evaluator", "tlf.runtime.npu", "tlf.dialects.graph"],
)


def in_process(modules: list[str]) -> str:
    script = SCRIPT.format(
        modules=modules, program=str(PROGRAM), target=TARGET, passes=PASSES
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout


def compiled(number: int = 0) -> str:
    del number
    context, module = parsed(PROGRAM.read_text(encoding="utf-8"))
    target = load_target_spec(TARGET)
    target.attach_to_module(module)
    run_passes(context, module, target, PASSES)
    return str(module) + "\n"


@pytest.fixture(scope="module")
def expected() -> str:
    return compiled()


@pytest.mark.parametrize("modules", ORDERS, ids=["passes", "lowering"])
def test_the_order_of_imports_decides_nothing(modules: list[str], expected: str):
    assert in_process(modules) == expected


def test_threads_decide_nothing(expected: str):
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(compiled, range(2)))
    assert found == [expected, expected]


def test_memos_are_those_of_contexts():
    first, second = PlanningContext(), PlanningContext()
    memo_of(first).results_table_for("plans", 1)["a"] = 2
    assert memo_of(first).results_table_for("plans", 1) == {"a": 2}
    assert memo_of(second).results_table_for("plans", 1) == {}
    assert memo_of(Context()).results_table_for("plans", 1) == {}


def test_an_evaluator_decides(expected: str):
    """The comparisons above can fail."""
    _, module = parsed(PROGRAM.read_text(encoding="utf-8"))
    target = load_target_spec(TARGET)
    target.attach_to_module(module)
    run_passes(PlanningContext(), module, target, PASSES)
    assert str(module) + "\n" != expected


def test_contexts_without_an_evaluator():
    for context in (Context(), PlanningContext(memo=Memo())):
        assert evaluator_of(context, load_target_spec("npu"), 1000) is None
