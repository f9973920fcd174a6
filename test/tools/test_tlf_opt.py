"""The command line of `tlf-opt`: what is said when something is wrong with it."""

import io
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tlf.compiler.driver import driver
from tlf.lowering import pipelines
from tlf.tools.tlf_opt import main

PROGRAM = "func.func @f() {\n  func.return\n}\n"


@pytest.fixture(autouse=True)
def _stdin(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(PROGRAM.encode())))


def failure(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run `tlf-opt`, which must fail; return what it says, which is one line."""
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code == 1
    said = capsys.readouterr()
    assert said.err.count("\n") == 1
    return said.err.strip()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-p", "no-such-pass"], "unknown pass `no-such-pass`"),
        (["-p", "mem-assign-cores"], "pass `mem-assign-cores` was renamed to"),
        (["-p", "tlf-csee"], "unknown pass `tlf-csee`, did you mean `tlf-cse`?"),
        (["--print-ir-after", "dec"], "unknown pass `dec`, did you mean `dce`?"),
        (["-p", "dce{fast=true}"], "pass `dce`: unknown option `fast`, expected none"),
        (
            ["-p", "linalg-fuse-multiply-add{require-scalar=true}"],
            "pass `linalg-fuse-multiply-add`: unknown option `require-scalar`, "
            "expected one of `require-scalar-factor`, `require-erasable-mul`",
        ),
        (
            ["-p", "linalg-fuse-multiply-add{require-scalar-factor=3}"],
            "pass `linalg-fuse-multiply-add`: option `require-scalar-factor` expects "
            "bool, got 3",
        ),
        (
            ["-p", "linalg-fuse-multiply-add{require-scalar-factor}"],
            "pass `linalg-fuse-multiply-add`: option `require-scalar-factor` expects "
            "bool, got nothing",
        ),
        (
            ["-p", "test-constant-folding{"],
            "cannot read pipeline `test-constant-folding{`: expected argument name "
            "here (column 23)",
        ),
        (
            ["-p", "dce,,dce"],
            "cannot read pipeline `dce,,dce`: expected pass name here (column 5)",
        ),
        (["-p", "%"], "cannot read pipeline `%`: unknown token (column 1)"),
        (["-p", "tidy{x=1}"], "pipeline `tidy` takes no options, got `tidy{x=1}`"),
        (["-t", "mlir{wide=1}"], "format `mlir`: unknown option `wide`, expected one"),
        (["-t", "mlir{"], "cannot read format `mlir{`: expected argument name here"),
        (["no/such/file.mlir"], "cannot read `no/such/file.mlir`: No such file"),
        (["/"], "cannot read `/`: Is a directory"),
        (["-o", "/no/such/file"], "cannot write `/no/such/file`: No such file"),
        (["--target", "nothing"], "expected a target"),
        (["--no-such-flag"], "unrecognized arguments: --no-such-flag"),
        (["-p"], "argument -p/--passes: expected one argument"),
    ],
)
def test_wrong_command_line(
    capsys: pytest.CaptureFixture[str], arguments: Sequence[str], message: str
):
    assert failure(capsys, *arguments).startswith(f"tlf-opt: error: {message}")


def test_unknown_format(capsys: pytest.CaptureFixture[str]):
    listed = ", ".join(f"`{name}`" for name in sorted(driver.TARGETS))
    expected = f"tlf-opt: error: unknown format `{{}}`, expected one of {listed}"

    near = expected.format("npuu")
    assert failure(capsys, "-t", "npuu") == f"{near}, did you mean `npu`?"
    assert failure(capsys, "-t", "xyz") == expected.format("xyz")


def test_pipeline_inside_itself(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    loop = {"a": "dce,b", "b": "a"}
    monkeypatch.setattr(pipelines, "PIPELINES", {**pipelines.PIPELINES, **loop})

    assert failure(capsys, "-p", "a").endswith("pipeline `a` contains itself")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"\xff", "cannot read `<stdin>`: byte 0 is not UTF-8"),
        (b"func.func @f(", "<stdin>:1:14: error: "),
        (b'"a.b"() : () -> ()', "<stdin>:1:1: error: unknown operation `a.b`"),
        (
            b"%0 = arith.nothing",
            "<stdin>:1:1: error: unknown operation `arith.nothing`",
        ),
        (b"func.return %x : i32", "<stdin>:1:13: error: %x is used but not defined"),
        (b"// \xc3\xa9\n  }", "<stdin>:2:3: error: expected an operation, got `}`"),
        (
            b"func.func @f() {\n  func.return\n",
            "<stdin>:3:1: error: expected an operation, a block name or `}`, got the "
            "end of the file",
        ),
        (
            b'%0 = "test.op"() : () -> tensor<-1xf32>',
            "<stdin>:1:33: error: ",
        ),
        (
            b'\n  %0 = "test.op"() : () -> memref<1xf32, affine_map<(d0) -> (d9)>>',
            "<stdin>:2:",
        ),
        (b'"test.op"() ({' * 1000, "<stdin>:1:"),
        (
            b"%0 = arith.constant 1 : i32\n%1 = arith.addf %0, %0 : i32",
            "<stdin>:2:1: error: ",
        ),
    ],
)
def test_wrong_program(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    text: bytes,
    message: str,
):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))

    assert message in failure(capsys)


def test_unreadable_target_description(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
):
    file = tmp_path / "chip.toml"
    file.write_text("levels = [")

    said = failure(capsys, "--target", str(file))
    assert said == f"{file}:1:11: error: invalid value"


def test_output_file(tmp_path: Path):
    main(["-o", str(tmp_path / "out.mlir")])

    assert "func.func @f()" in (tmp_path / "out.mlir").read_text(encoding="utf-8")


def test_lists_what_it_knows(capsys: pytest.CaptureFixture[str]):
    main(["--list"])

    listed = capsys.readouterr().out.split()
    assert {"tlf-cse", "tidy", "mlir", "npu-tiny", "canonicalize"} <= set(listed)


def test_traceback_on_request(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"}")))

    with pytest.raises(SystemExit):
        main(["--traceback"])
    assert "Traceback" in capsys.readouterr().err


def test_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "tlf.tools.tlf_opt", "-"],
        input=PROGRAM,
        capture_output=True,
        text=True,
        check=True,
    )

    assert "func.func @f()" in done.stdout


def test_reader_of_the_output_may_leave(tmp_path: Path):
    file = tmp_path / "long.mlir"
    file.write_text('"test.op"() : () -> ()\n' * 6000)
    command = f"{sys.executable} -m tlf.tools.tlf_opt {file} | head -n 1"

    done = subprocess.run(command, shell=True, capture_output=True, text=True)

    assert done.stderr == ""
    assert done.stdout == "builtin.module {\n"


def test_output_streams_may_be_closed(tmp_path: Path):
    command = [sys.executable, "-m", "tlf.tools.tlf_opt", "-o", tmp_path / "out.mlir"]
    closing = ["sh", "-c", '"$@" >&- 2>&-', "sh", *command]

    subprocess.run(closing, input=PROGRAM, text=True, check=True)

    assert "func.func @f()" in (tmp_path / "out.mlir").read_text()


def test_xdsl_opt_knows_our_passes():
    done = subprocess.run(
        [Path(sys.executable).parent / "xdsl-opt", "-p", "tlf-cse"],
        input=PROGRAM,
        capture_output=True,
        text=True,
        check=True,
    )

    assert "func.func @f()" in done.stdout


def test_output_file_stays_where_there_are_errors(tmp_path: Path):
    """The source may be that file."""
    wrong = "func.func @f() {\n  graph.rellu\n  func.return\n}\n"
    file = tmp_path / "program.mlir"
    file.write_text(wrong)

    with pytest.raises(SystemExit):
        main([str(file), "-o", str(file)])
    assert file.read_text() == wrong
    with pytest.raises(SystemExit):
        main([str(file), "-o", str(tmp_path / "new.mlir")])
    assert not (tmp_path / "new.mlir").exists()
