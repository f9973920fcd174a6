"""Dialects, passes and formats of other packages, found by their entry points."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, FloatAttr, ModuleOp
from xdsl.ir import Dialect, SSAValue
from xdsl.irdl import irdl_op_definition
from xdsl.passes import ModulePass
from xdsl.targets.mlir import MLIRTarget
from xdsl.universe import Universe

import tlf
from tlf.compiler.driver import plugins
from tlf.dialects import graph
from tlf.dialects.graph.elementwise import UnaryOperation
from tlf.dialects.interfaces import Array
from tlf.tools import tlf_explain, tlf_opt, tlf_run

PROGRAM = """func.func @f(%x: tensor<40xf32>) -> tensor<40xf32> {
  %0 = graph.relu %x : tensor<40xf32>
  %y = my.triple %0 : tensor<40xf32>
  func.return %y : tensor<40xf32>
}"""


@irdl_op_definition
class TripleOp(UnaryOperation):
    name = "my.triple"

    def compute_in_numpy(self, *operands: Array) -> Array:
        (x,) = operands
        return np.multiply(x, x.dtype.type(3))

    def build_scalar_computation(
        self, builder: Builder, *elements: SSAValue
    ) -> SSAValue:
        (x,) = elements
        assert isinstance(x.type, AnyFloat)
        three = builder.insert(arith.ConstantOp(FloatAttr(3.0, x.type)))
        return builder.insert(arith.MulfOp(x, three.result)).result


@dataclass(frozen=True)
class FoldTriplePass(ModulePass):
    name = "my-fold-triple"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in list(op.walk()):
            if isinstance(each, TripleOp):
                each.result.replace_all_uses_with(each.operand)
                each.detach()
                each.erase()


class QuietTarget(MLIRTarget):
    name = "quiet"


MY = Universe(
    all_dialects={"my": lambda: Dialect("my", [TripleOp])},
    all_passes={"my-fold-triple": lambda: FoldTriplePass},
    all_targets={"quiet": lambda: QuietTarget},
)
SHADOWING = Universe(all_dialects={"graph": lambda: Dialect("graph")})
NOT_A_UNIVERSE = "text"


@pytest.fixture(autouse=True)
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    Path("f.mlir").write_text(PROGRAM, encoding="utf-8")
    plugins.load_plugins.cache_clear()
    yield
    plugins.load_plugins.cache_clear()


def install(monkeypatch: pytest.MonkeyPatch, **objects: str) -> None:
    """Let these objects, by the names of plugins, be the entry points there are."""
    points = [
        EntryPoint(name, f"{__name__}:{value}", plugins.ENTRY_POINT_GROUP)
        for name, value in objects.items()
    ]
    loaded = {name: globals().get(value) for name, value in objects.items()}

    def load(point: EntryPoint) -> object:
        if loaded[point.name] is None:
            raise AttributeError(f"no {point.name}")
        return loaded[point.name]

    def found(group: str) -> list[EntryPoint]:
        return [point for point in points if point.group == group]

    monkeypatch.setattr(EntryPoint, "load", load)
    monkeypatch.setattr(plugins, "entry_points", found)


def test_passes_and_formats_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    install(monkeypatch, mine="MY")
    tlf_opt.main(["f.mlir", "-t", "quiet"])
    assert "%y = my.triple %0 : tensor<40xf32>" in capsys.readouterr().out
    tlf_opt.main(["f.mlir", "-p", "my-fold-triple,dce"])
    assert "my.triple" not in capsys.readouterr().out


@pytest.mark.parametrize("target", ["reference", "npu-tiny", "triton"])
def test_operations_run_on_targets(target: str, monkeypatch: pytest.MonkeyPatch):
    install(monkeypatch, mine="MY")
    x = np.linspace(-2, 2, 40, dtype=np.float32)
    result = tlf.compile(PROGRAM, target=target)(x)
    np.testing.assert_array_equal(result, np.maximum(x, 0) * 3)


@pytest.mark.parametrize("main", [tlf_run.main, tlf_explain.main])
def test_tools_read_operations(
    main: Callable[[list[str]], None], monkeypatch: pytest.MonkeyPatch
):
    install(monkeypatch, mine="MY")
    main(["f.mlir"])


def test_the_list_names_passes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    install(monkeypatch, mine="MY")
    tlf_opt.main(["--list"])
    assert "passes of plugins:\n  my-fold-triple\n" in capsys.readouterr().out
    plugins.load_plugins.cache_clear()
    install(monkeypatch)
    tlf_opt.main(["--list"])
    assert "plugins" not in capsys.readouterr().out


def test_own_names_come_first(monkeypatch: pytest.MonkeyPatch):
    """Programs of TLF load no plugins, so that a wrong one does no harm to them."""
    install(monkeypatch, wrong="MISSING", shadowing="SHADOWING")
    text = PROGRAM.replace("my.triple", "graph.exp")
    x = np.zeros(40, np.float32)
    result = tlf.compile(text)(x)
    np.testing.assert_array_equal(result, np.ones(40))
    plugins.load_plugins.cache_clear()
    install(monkeypatch, shadowing="SHADOWING")
    assert graph.Graph is plugins.DIALECTS["graph"]()
    assert plugins.DIALECTS.plugin_names() == []


@pytest.mark.parametrize(
    ("installed", "message"),
    [
        ({}, "unknown operation `my.triple`: there is no dialect `my`"),
        ({"a": "MISSING"}, "plugin `a`: cannot load `"),
        ({"a": "NOT_A_UNIVERSE"}, "to be a universe of xDSL, got one of type str"),
        ({"b": "MY", "a": "MY"}, "`my` is in several plugins: `a` and `b`"),
    ],
)
def test_messages(
    installed: dict[str, str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    install(monkeypatch, **installed)
    with pytest.raises(SystemExit) as exit_:
        tlf_opt.main(["f.mlir"])
    said = capsys.readouterr()
    assert (exit_.value.code, said.out) == (1, "")
    assert said.err.startswith("f.mlir:3:3: error: ")
    assert message in said.err
    assert said.err.count("\n") == 1


@pytest.mark.parametrize("options", ["-p my-fold-triple", "-t quiet", "--list"])
def test_messages_of_names(
    options: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    install(monkeypatch, a="MISSING")
    with pytest.raises(SystemExit):
        tlf_opt.main(["f.mlir", *options.split()])
    assert capsys.readouterr().err.startswith("tlf-opt: error: plugin `a`: cannot load")
