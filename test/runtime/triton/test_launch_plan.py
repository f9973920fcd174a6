"""
Loading and running plans: malformed text, guards, host loops, and what computes.
"""

import copy
import errno
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tlf.runtime.triton import (
    GuardError,
    KernelError,
    PlanError,
    kernel_files,
    load_plan,
    prepare,
    run,
)
from tlf.runtime.triton.kernel_files import write_kernel_file

SOURCE = """\
import triton
import triton.language as tl


@triton.jit
def add(p0, p1, p2, i0):
    r = tl.program_id(0) * 4 + tl.arange(0, 4)
    x = tl.load(p0 + i0 * 8 + r)
    y = tl.load(p1 + r).to(tl.float32)
    tl.store(p2 + i0 * 8 + r, (x.to(tl.float32) + y).to(tl.bfloat16))
"""

Json = dict[str, Any]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLF_CACHE_DIR", str(tmp_path))


@pytest.fixture
def plan() -> Json:
    """
    Adds a constant to each row of x (bf16, 3x8), one launch per row, through a copy.
    """
    launch = {
        "launch": "add",
        "arguments": [
            {"buffer": "x"},
            {"buffer": "c"},
            {"buffer": "t"},
            {"index": "h"},
        ],
    }
    again = copy.deepcopy(launch)
    again["arguments"] = [
        {"buffer": "t"},
        {"buffer": "c"},
        {"buffer": "y"},
        {"index": "h"},
    ]
    return {
        "schema": "tlf-triton-plan",
        "version": 3,
        "arena_bytes": 64,
        "function": "f",
        "kernels": [
            {
                "name": "add",
                "sha256": hashlib.sha256(SOURCE.encode()).hexdigest(),
                "source": SOURCE,
                "grid": [2],
                "num_warps": 4,
                "num_stages": 3,
                "arguments": ["p0", "p1", "p2", "i0"],
            }
        ],
        "buffers": _buffers(),
        "arguments": ["x"],
        "results": ["y"],
        "steps": [
            {"loop": "h", "lower": 0, "upper": 3, "step": 1, "steps": [launch, again]}
        ],
    }


def _buffers() -> list[Json]:
    constant = np.arange(8, dtype=np.float32)
    return [
        {"name": "x", "kind": "argument", "dtype": "bf16", "shape": [3, 8]},
        {"name": "y", "kind": "result", "dtype": "bf16", "shape": [3, 8]},
        {
            "name": "t",
            "kind": "temporary",
            "dtype": "bf16",
            "shape": [3, 8],
            "offset": 16,
        },
        {
            "name": "c",
            "kind": "constant",
            "dtype": "f32",
            "shape": [8],
            "data": _encoded(constant),
        },
    ]


def _encoded(array: np.ndarray) -> str:
    import base64

    return base64.b64encode(array.tobytes()).decode()


def values() -> np.ndarray:
    random = np.random.default_rng(0)
    return random.integers(-9, 9, (3, 8)).astype(ml_dtypes.bfloat16)


def test_run_with_numpy(plan: Json) -> None:
    x = values()
    before = x.copy()
    got = run(plan, {"x": x})["y"]
    assert isinstance(got, np.ndarray)
    assert got.dtype == x.dtype
    expected = x.astype(np.float32) + 2 * np.arange(8)
    np.testing.assert_array_equal(got.astype(np.float32), expected)
    np.testing.assert_array_equal(x, before)


def test_run_with_torch_in_order(plan: Json) -> None:
    x = torch.tensor(values().astype(np.float32).tolist(), dtype=torch.bfloat16)
    got = run(json.dumps(plan), [x])["y"]
    assert isinstance(got, torch.Tensor)
    torch.testing.assert_close(got, x + 2 * torch.arange(8).to(torch.bfloat16))


def test_executable_runs_again_with_fresh_results(plan: Json) -> None:
    executable = prepare(f"# some kernel\n\n# plan\n{json.dumps(plan)}\n")
    x = values()
    first, second = executable([x])["y"], executable([x + x])["y"]
    assert not np.shares_memory(first, second)
    expected = x.astype(np.float32) + 2 * np.arange(8)
    np.testing.assert_array_equal(np.asarray(first).astype(np.float32), expected)


def test_steps_are_observed(plan: Json) -> None:
    seen: list[float] = []
    steps = plan["steps"] * 2
    executable = prepare({**plan, "steps": steps})
    first = executable([values()], observe_fraction=seen.append)["y"]
    assert seen == [0.0, 0.5]
    np.testing.assert_array_equal(first, executable([values()])["y"])


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_temporaries_are_in_the_memory_of_results(
    plan: Json, order: Sequence[int]
) -> None:
    """`y` is computed from `t`, at the same place and elements."""
    strides = [1, 3] if order == (1, 0) else [8, 1]
    plan["buffers"][1]["strides"] = strides
    plan["buffers"][2].update(result="y", offset=0)
    plan["arena_bytes"] = 0
    got = run(plan, [values()])["y"]
    assert isinstance(got, np.ndarray)
    stored = got.transpose(order).reshape(3, 8).astype(np.float32)
    expected = values().astype(np.float32) + 2 * np.arange(8)
    np.testing.assert_array_equal(stored, expected)


def test_read_only_input(plan: Json) -> None:
    x = values()
    x.flags.writeable = False
    expected = x.astype(np.float32) + 2 * np.arange(8)
    got = np.asarray(run(plan, [x])["y"])
    np.testing.assert_array_equal(got.astype(np.float32), expected)


class NoCompute(TorchDispatchMode):
    """
    Torch may allocate, copy and view while a plan runs, and nothing else.
    """

    ALLOWED = (
        "aten.empty",
        "aten.detach",
        "aten.view",
        "aten._to_copy",
        "aten.copy_",
        "aten.set_",
        "aten.slice",
        "aten.new_empty",
        "aten.alias",
        "aten.lift_fresh",
    )

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        assert str(func).startswith(self.ALLOWED), f"torch computed {func}"
        return func(*args, **(kwargs or {}))


def test_torch_does_not_compute(plan: Json) -> None:
    with NoCompute():
        got = np.asarray(run(plan, [values()])["y"])
    expected = values().astype(np.float32) + 2 * np.arange(8)
    np.testing.assert_array_equal(got.astype(np.float32), expected)
    with pytest.raises(AssertionError, match="torch computed"), NoCompute():
        torch.neg(torch.ones(3))


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"z": values()}, r"expected arguments \['x'\], got \['z'\]"),
        ([], "expected 1 arguments, got 0"),
        ([[1, 2]], "argument 'x': expected a numpy array or a torch tensor, got list"),
        ([values()[:2]], r"argument 'x': expected shape \(3, 8\), got \(2, 8\)"),
        ([values().astype(np.float32)], "argument 'x': expected dtype bf16, got f32"),
        ([torch.zeros(3, 8)], "argument 'x': expected dtype bf16, got f32"),
        (
            [torch.zeros(8, 3, dtype=torch.bfloat16).T],
            r"argument 'x': expected strides \(8, 1\), got \(1, 3\)",
        ),
        ([np.zeros((3, 8), np.complex64)], "expected dtype bf16, got complex64"),
    ],
)
def test_guards(plan: Json, inputs: Any, message: str) -> None:
    with pytest.raises(GuardError, match=message):
        run(plan, inputs)


def _set(path: str, value: object) -> Callable[[Json], None]:
    def change(plan: Json) -> None:
        *parents, last = path.split(".")
        target: Any = plan
        for key in parents:
            target = target[int(key) if key.isdigit() else key]
        target[int(last) if last.isdigit() else last] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            _set("schema", "other"),
            "plan.schema: expected 'tlf-triton-plan', got 'other'",
        ),
        (_set("version", 1), "plan.version: expected 2 or 3 or 4 or 5, got 1"),
        (_set("version", "1"), "plan.version: expected an integer, got '1'"),
        (_set("function", None), "plan.function: expected a string, got null"),
        (_set("kernels", {}), "plan.kernels: expected a list, got an object"),
        (_set("kernels.0", 3), r"plan.kernels\[0\]: expected an object, got 3"),
        (
            _set("kernels.0.sha256", "0"),
            r"plan.kernels\[0\].sha256: expected .*, got 0",
        ),
        (_set("kernels.0.name", "a b"), "'a b' is not an identifier"),
        (_set("kernels.0.grid", [0]), r"expected 1 to 3 positive sizes, got \(0,\)"),
        (_set("kernels.0.grid", ["x"]), "grid: expected a list of integers"),
        (_set("kernels.0.arguments", ["p0"]), "kernel 'add' takes 1 arguments, got 4"),
        (_set("kernels.0.arguments", [1]), "arguments: expected a list of strings"),
        (_set("buffers.0.kind", "input"), r"buffers\[0\].kind: expected one of"),
        (_set("buffers.0.dtype", "f8"), "unknown element type 'f8'"),
        (_set("buffers.0.shape", [-1]), "got a negative extent"),
        (_set("buffers.0.strides", [1]), r"of shape \(3, 8\), got \(1,\)"),
        (_set("buffers.1.strides", [1, 1]), r"strides of a dense tensor .*, got"),
        (_set("buffers.2.strides", [1, 3]), "strides: expected none of a temporary"),
        (_set("buffers.3.strides", [1]), "strides: expected none of a constant"),
        (_set("buffers.0.name", "y"), "buffer 'y' is defined twice"),
        (_set("buffers.3.shape", [9]), r"buffers\[3\].data: expected 36 bytes, got 32"),
        (_set("buffers.3.data", "?"), r"buffers\[3\].data: "),
        (
            _set("buffers.2.offset", 8),
            "'t': expected an offset that is a multiple of 16",
        ),
        (
            _set("buffers.2.offset", 32),
            "'t': expected bytes within the 64 of the arena",
        ),
        (_set("buffers.2.offset", -16), "expected bytes within the 64 of the arena"),
        (_set("arena_bytes", 48), "'t': expected bytes within the 48 of the arena"),
        (_set("buffers.2.result", "z"), "expected bytes within the 0 of result 'z'"),
        (
            _set("buffers.2", {**_buffers()[2], "result": "y"}),
            "'t': expected bytes within the 48 of result 'y', got 16 to 64",
        ),
        (_set("arguments", []), r"plan.arguments: expected \['x'\], got \[\]"),
        (_set("steps.0.step", 0), "expected a positive step, got 0"),
        (_set("steps.0.steps.0.launch", "sub"), "launch of unknown kernel 'sub'"),
        (_set("steps.0.steps.0.arguments.0", {}), "expected `buffer` or `index`"),
        (
            _set("steps.0.steps.0.arguments.0", {"buffer": "q"}),
            "launch of 'add': no buffer 'q'",
        ),
        (
            _set("steps.0.steps.0.arguments.3", {"index": "q"}),
            "launch of 'add': no index 'q'",
        ),
    ],
)
def test_malformed_plans(
    plan: Json, change: Callable[[Json], None], message: str
) -> None:
    change(plan)
    with pytest.raises(PlanError, match=message):
        load_plan(plan)


def test_plans_without_strides_of_version_2(plan: Json) -> None:
    newer = load_plan(plan)
    assert load_plan({**plan, "version": 2}) == newer
    assert all(each.strides is None for each in newer.buffers)


def test_texts_that_are_no_plans() -> None:
    with pytest.raises(PlanError, match="expected a JSON object or a line '# plan'"):
        load_plan("import triton")
    with pytest.raises(PlanError, match="plan is not JSON"):
        load_plan("{]")
    with pytest.raises(PlanError, match="plan: missing `schema`"):
        load_plan("{}")


def test_kernel_files_are_named_by_content(plan: Json) -> None:
    (kernel,) = load_plan(plan).kernels
    path = write_kernel_file(kernel)
    assert kernel.sha256[:32] in path.name
    assert path.read_text() == SOURCE
    path.write_text("damaged")
    assert write_kernel_file(kernel).read_text() == SOURCE
    assert list(path.parent.iterdir()) == [path]


def test_folder_that_cannot_be_written(
    plan: Json, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TLF_CACHE_DIR", str(tmp_path / "file"))
    (kernel,) = load_plan(plan).kernels
    assert write_kernel_file(kernel).read_text() == SOURCE
    assert write_kernel_file(kernel).parent.name.startswith("tlf-kernels-")
    assert (tmp_path / "file").read_text() == ""


def test_no_folder_can_be_written(plan: Json, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(kernel_files, "write_file_atomically", fail)
    (kernel,) = load_plan(plan).kernels
    with pytest.raises(KernelError, match="kernel 'add': cannot write its source"):
        write_kernel_file(kernel.with_source("# new"))


def test_file_removed_after_import(plan: Json, tmp_path: Path) -> None:
    """Another process may evict the file before Triton reads it."""
    expected = run(plan, [values()])
    plan["kernels"][0]["source"] = source = SOURCE + "# removed"
    plan["kernels"][0]["sha256"] = hashlib.sha256(source.encode()).hexdigest()
    executable = prepare(plan)
    for file in tmp_path.rglob("*.py"):
        file.unlink()
    for name, array in executable([values()]).items():
        np.testing.assert_array_equal(array, expected[name])


def _python(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env=kept | environment,
        check=False,
    )


TRY = """
import sys
{before}
from tlf.runtime.triton import UnavailableError, device_selection
try:
    print(device_selection.select_device())
except UnavailableError as error:
    print(error)
"""


@pytest.mark.parametrize("name", ["torch", "triton"])
def test_missing_package(name: str) -> None:
    before = f"sys.modules['{name}'] = None"
    result = _python(TRY.format(before=before), TRITON_INTERPRET="1")
    assert result.stdout.startswith(f"the triton target needs {name}, which cannot be")
    assert "pip install -e '.[torch]'" in result.stdout
    assert not result.stderr


@pytest.mark.skipif(torch.cuda.is_available(), reason="triton would compile")
def test_triton_imported_too_early() -> None:
    result = _python(TRY.format(before="import triton"))
    assert result.stdout.startswith("no CUDA device, and triton was imported without")
    assert _python(TRY.format(before="")).stdout == "cpu\n"
