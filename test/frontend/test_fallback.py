"""Fallback to PyTorch for what TLF does not support, or fails to compile."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from torch import Tensor
from torch.nn import functional
from torch_check import T, assert_close

from tlf.compiler.api import torch_backend, torch_subgraphs
from tlf.compiler.api.compile import compile as compile_program
from tlf.compiler.api.compiled_program import CompiledProgram
from tlf.compiler.api.torch_backend import REPORT, tlf
from tlf.compiler.api.torch_failures import FOLDER_VARIABLE
from tlf.compiler.api.torch_settings import Settings
from tlf.compiler.api.torch_subgraphs import CompiledGraph
from tlf.frontend.torch import convert
from tlf.frontend.torch.decompositions import core_decompositions
from tlf.frontend.torch.registry import CONVERTERS, find_aten_overload

TRUTHS = torch.tensor([[True, False], [False, False]])
IMAGE = T.arange(16.0).reshape(1, 1, 4, 4)
HALVES = T.arange(6.0).to(torch.float64)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))


def compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    torch.compiler.reset()
    REPORT.clear()
    given = {"target": "reference", **options}
    return T.compile(function, backend=tlf, options=given)


def check(function: Callable[..., Any], *inputs: Tensor, **options: Any) -> None:
    with torch.no_grad():
        found = compiled(function, **options)(*inputs)
        assert_close(found, function(*inputs), 1e-6)


def written(text: str) -> Callable[..., Any]:
    """A function of x."""
    return eval(f"lambda x: {text}", {"T": torch, "F": functional})


def scaled(x: Tensor) -> Tensor:
    return x.relu() * 2


@pytest.mark.parametrize(
    ("text", "x"),
    [
        ("x.max(0)", TRUTHS),
        ("F.max_pool2d(x, 2, return_indices=True)", IMAGE),
        ("T.native_layer_norm(x, [4], None, None, 1e-5)", IMAGE),
        ("x.index_select(0, T.tensor([0]))", T.tensor(3.0)),
        ("x.unfold(0, 1, 1)", T.tensor(3.0)),
        ("x.sort().values", T.tensor(3.0)),
        ("T.signbit(x) * 2", T.tensor([1.0, -0.0, -2.0])),
        ("T.diagonal_scatter(x, x[0])", IMAGE[0, 0]),
        ("F.avg_pool2d(x, 2)", IMAGE.long()),
        ("F.local_response_norm(x, 2)", IMAGE.long()),
        ("T.native_group_norm(x, None, None, 1, 1, 16, 1, 1e-5)", IMAGE),
        ("T.copysign(x, -x)", IMAGE),
    ],
)
def test_operations_that_stay_with_tlf(text: str, x: Tensor):
    check(written(text), x, fallback="strict")
    assert not REPORT.eager


@pytest.mark.one_in(1 / 4)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("target", ["reference", "npu", "triton"])
def test_tensors_without_axes_beside_16_bit_floats(target: str, dtype: torch.dtype):
    def scale(x: Tensor, wide: Tensor, single: Tensor, narrow: Tensor) -> Any:
        large = torch.where(x > wide, x, single)
        return x + wide, x * single, large, x - narrow, narrow * 0.1

    x = T.tensor([0.0, 0.1, -0.2, 1.0]).to(dtype)
    numbers = [T.tensor(-0.1, dtype=torch.float64), T.tensor(2.5), x[1]]
    check(scale, x, *numbers, target=target, fallback="strict")


@pytest.mark.parametrize("text", ["copy_(x[0])", "fill_(3.0)", "mul_(2)"])
def test_writes_to_a_diagonal(text: str):
    def write(x: Tensor) -> Any:
        kept = x.clone()
        eval(f"kept.diagonal().{text}", {"kept": kept, "x": x})
        return kept

    check(write, IMAGE[0, 0], fallback="strict")
    assert not REPORT.eager


@pytest.mark.one_in(1 / 4)
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("target", ["reference", "npu", "triton"])
def test_grid_sample(target: str, mode: str):
    def sample(image: Tensor, grid: Tensor) -> Tensor:
        return functional.grid_sample(image, grid, mode=mode, align_corners=False)

    grid = T.linspace(-1.2, 1.3, 18).reshape(1, 3, 3, 2)
    check(sample, IMAGE, grid, target=target, fallback="strict")


@pytest.mark.parametrize(
    ("text", "x", "target"),
    [
        ("T.complex(x, x).abs() + 1", IMAGE, "reference"),
        ("T.polar(x, x * 2).real", IMAGE, "reference"),
        ("x * 2 + 1", HALVES, "npu-tiny"),
        ("x.to(T.float64).sum() + 1", IMAGE, "npu-tiny"),
        ("x * T.tensor(0.1, dtype=T.float64)", IMAGE, "npu-tiny"),
        ("x.to(T.float64).clone()", IMAGE, "npu-tiny"),
        ("T.linalg.inv(x + T.eye(4) * 50) * 2", IMAGE, "reference"),
        ("F.layer_norm(x, [4], eps=-0.5)", IMAGE, "reference"),
        ("F.group_norm(x, 1, eps=-0.5)", IMAGE, "reference"),
        ("T.slice_scatter(x, x[:, :, :0], 2, 1, 1)", IMAGE, "reference"),
    ],
)
def test_operations_that_tlf_has_not(text: str, x: Tensor, target: str):
    """They are no failure of the compiler."""
    check(written(text), x, target=target, fallback="strict")
    assert REPORT.eager


def test_graphs_that_depend_on_data(caplog: pytest.LogCaptureFixture):
    """They are none, either."""

    def cut(x: Tensor, start: Tensor) -> Tensor:
        return x.narrow(-1, cast(Any, start), 2) * 2

    with caplog.at_level(logging.INFO, "tlf.torch"):
        check(cut, IMAGE, T.tensor(1), fallback="strict")
    (record,) = caplog.records
    assert "it depends on data (aten._local_scalar_dense" in record.getMessage()
    assert REPORT.eager


def fail(*arguments: Any, **options: Any) -> Any:
    raise KeyError("a fault")


class FailsOnce:
    """A function, of which the first call fails with an error of some class."""

    def __init__(self, function: Callable[..., Any], kind: type[Exception]) -> None:
        self.function = function
        self.kind: type[Exception] | None = kind

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        kind, self.kind = self.kind, None
        if kind is not None:
            raise kind("a fault")
        return self.function(*arguments, **options)


def reproducer(log: str) -> Path:
    (named,) = re.findall(r"reproducer: ([^)]*)", log)
    return Path(named)


def break_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_subgraphs, "CompiledProgram", fail)


def break_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CompiledProgram, "run_ordered", fail)


def break_conversion(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = {**CONVERTERS, find_aten_overload("relu.default"): fail}
    monkeypatch.setattr(convert, "CONVERTERS", broken)


def break_import(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_subgraphs, "import_graph", fail)


def break_tracing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_backend, "compile_graph", fail)


BREAKS = [
    (break_compiler, ".mlir"),
    (break_runs, ".mlir"),
    (break_conversion, ".py"),
    (break_import, ".py"),
    (break_tracing, ".py"),
]


@pytest.mark.parametrize(("fault", "ending"), BREAKS)
def test_failures_are_told_once(
    fault: Callable[[pytest.MonkeyPatch], None],
    ending: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
):
    """With a file that says what was compiled, and for what."""
    fault(monkeypatch)
    run = compiled(scaled)
    with caplog.at_level(logging.WARNING, "tlf.torch"), torch.no_grad():
        for _ in range(3):
            assert_close(run(IMAGE), scaled(IMAGE), 0)

    (record,) = caplog.records
    assert "KeyError: 'a fault'" in record.getMessage()
    file = reproducer(record.getMessage())
    text = file.read_text(encoding="utf-8")
    assert file.suffix == ending
    assert "target reference, numerics strict" in text
    assert ("tlf-run" in text) == (ending == ".mlir")
    assert "relu" in text
    assert "aten.relu.default" in REPORT.eager or ending == ".py"
    assert REPORT.compiled in (0, 1)


@pytest.mark.parametrize("fault", [fault for fault, _ in BREAKS])
def test_failures_in_strict_mode(
    fault: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
):
    fault(monkeypatch)
    with torch.no_grad(), pytest.raises(Exception, match=r"a fault.*\(reproducer: "):
        compiled(scaled, fallback="strict")(IMAGE)


@pytest.mark.parametrize("kind", [AssertionError, RuntimeError, StopIteration])
@pytest.mark.parametrize(
    "name", ["compile_graph", "import_graph", "CompiledProgram", "partition_graph"]
)
def test_failures_of_any_class(
    name: str, kind: type[Exception], monkeypatch: pytest.MonkeyPatch
):
    """No second try hides one."""
    home = torch_backend if name == "compile_graph" else torch_subgraphs
    monkeypatch.setattr(home, name, FailsOnce(getattr(home, name), kind))
    match = rf"{kind.__name__}: a fault.*\(reproducer: "
    with torch.no_grad(), pytest.raises(Exception, match=match):
        compiled(scaled, fallback="strict")(IMAGE)


def test_reproducers_can_be_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    break_compiler(monkeypatch)
    folder = tmp_path / "of its own"
    check(scaled, IMAGE, reproducers=str(folder), target="npu-tiny")

    (file,) = folder.iterdir()
    monkeypatch.undo()
    found: Any = compile_program(file, target="npu-tiny")(IMAGE)
    assert_close(found, scaled(IMAGE), 0)


def test_no_reproducer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """If none can be written, this is reported, and nothing is left behind."""
    break_compiler(monkeypatch)
    (tmp_path / "file").touch()
    with pytest.raises(Exception, match="no reproducer: "):
        check(
            scaled,
            IMAGE,
            reproducers=str(tmp_path / "file" / "folder"),
            fallback="strict",
        )
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_decompositions_that_write(monkeypatch: pytest.MonkeyPatch):
    """PyTorch refuses graphs that write: the graph is traced without them."""

    def writing() -> Any:
        def decomposed(x: Tensor) -> Tensor:
            found = T.empty_like(x)
            T.ops.prims.copy_to(found, x * 0.5)
            return found

        table = dict(core_decompositions())
        return {**table, find_aten_overload("erfinv.default"): decomposed}

    monkeypatch.setattr(torch_backend, "all_decompositions", writing)
    check(written("T.erfinv(x / 20).exp()"), IMAGE, fallback="strict")
    assert set(REPORT.eager) == {"aten.erfinv.default"}


def test_graphs_of_several_shapes(monkeypatch: pytest.MonkeyPatch):
    break_tracing(monkeypatch)
    run = T.compile(scaled, backend=tlf, dynamic=True, options={"target": "reference"})
    with torch.no_grad():
        for extent in (3, 4):
            x = T.arange(extent) * 1.0
            assert_close(run(x), scaled(x), 0)


def test_calls_that_failed_are_not_tried_again(monkeypatch: pytest.MonkeyPatch):
    calls: list[Any] = []

    def counted(self: CompiledGraph, *inputs: Tensor) -> Any:
        calls.append(inputs)
        return fail()

    monkeypatch.setattr(CompiledGraph, "__call__", counted)
    run = compiled(scaled)
    with torch.no_grad():
        for _ in range(3):
            run(IMAGE)
    assert len(calls) == 1


def test_memory_that_runs_out_is_no_fault(monkeypatch: pytest.MonkeyPatch):
    """PyTorch runs that call alone."""

    def doubled(x: Tensor) -> Tensor:
        return x * 2

    program: Any = compiled(doubled)
    x, run = T.ones(3), CompiledGraph.__call__
    short = [False, True, False]

    def limited(graph: CompiledGraph, *inputs: Tensor) -> list[Any]:
        calls.append(graph)
        if short[len(calls) - 1]:
            raise torch.OutOfMemoryError("no memory is left")
        return run(graph, *inputs)

    calls: list[CompiledGraph] = []
    monkeypatch.setattr(CompiledGraph, "__call__", limited)
    for _ in short:
        assert program(x).equal(x * 2)
    assert len(calls) == len(short)


@pytest.mark.parametrize("value", [None, "folder"])
def test_folder_of_reproducers(value: str | None):
    assert Settings.from_options({"reproducers": value}).reproducers == value
    with pytest.raises(ValueError, match="expected reproducers to be a folder, got 3"):
        Settings.from_options({"reproducers": 3})
