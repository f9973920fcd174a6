"""The command line of `tlf-run`: inputs, results, and what is said of mistakes."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tlf.dialects.interfaces import Array
from tlf.dialects.interpreters.interpret import interpret
from tlf.tools import run_command
from tlf.tools.tlf_run import main

PROGRAM = """
func.func @f(%x: tensor<3x4xbf16>, %n: tensor<4xi32>, %b: tensor<2xi1>)
    -> (tensor<3x4xbf16>, tensor<4xi32>, tensor<2xi1>) {
  %y = graph.relu %x : tensor<3x4xbf16>
  %m = graph.relu %n : tensor<4xi32>
  %c = graph.mul %b, %b : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
  func.return %y, %m, %c : tensor<3x4xbf16>, tensor<4xi32>, tensor<2xi1>
}
"""
OTHER = """
func.func @g(%x: tensor<300xf32> {tlf.range = [2.0, 3.0]}) -> tensor<300xf32> {
  %y = graph.sqrt %x : tensor<300xf32>
  func.return %y : tensor<300xf32>
}
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Run in a folder with programs and arrays."""
    monkeypatch.chdir(tmp_path)
    Path("one.mlir").write_text(PROGRAM, encoding="utf-8")
    Path("other.mlir").write_text(OTHER, encoding="utf-8")
    Path("two.mlir").write_text(PROGRAM + OTHER, encoding="utf-8")
    np.save("x.npy", image())
    np.save("n.npy", np.array([-1, 2, -3, 4], np.int32))
    np.save("b.npy", np.array([True, False]))
    np.save("f32.npy", np.ones((3, 4), np.float32))
    np.save("f16.npy", np.ones((3, 4), np.float16))
    np.save("turned.npy", np.ones((4, 3), ml_dtypes.bfloat16))
    np.save("objects.npy", np.array([{}], dtype=object))
    np.savez("archive.npz", x=np.ones((3, 4), np.float32))
    Path("empty.npy").touch()
    Path("header.npy").write_bytes(Path("x.npy").read_bytes()[:40])
    Path("cut.npy").write_bytes(Path("x.npy").read_bytes()[:-4])


def image() -> Array:
    """Numbers of both signs, as bf16."""
    return np.linspace(-2, 2, 12).reshape(3, 4).astype(ml_dtypes.bfloat16)


def loaded(file: str) -> Array:
    """A dumped result; numpy keeps of bf16 only that it has two bytes."""
    array = np.load(Path("out") / file)
    return array.view(ml_dtypes.bfloat16) if array.dtype.kind == "V" else array


def failure(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run `tlf-run`, which must fail; return what it says, which is one line."""
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    return said.err.strip()


ARRAY = "expected a .npy file of an array for input `x`"
GIVEN = ["--input", "x=x.npy", "--input", "n=n.npy", "--input", "b=b.npy"]


@pytest.mark.parametrize("target", ["reference", "npu", "npu-tiny", "triton"])
def test_inputs_and_results_are_files(target: str):
    main(["one.mlir", "--target", target, "--dump-dir", "out", "--check", *GIVEN])

    assert np.array_equal(loaded("y.npy"), np.maximum(image(), 0))
    assert loaded("m.npy").tolist() == [0, 2, 0, 4]
    assert loaded("c.npy").tolist() == [True, False]


def test_inputs_may_be_in_any_order_in_memory():
    np.save("x.npy", np.asfortranarray(image()))

    main(["one.mlir", "--dump-dir", "out", *GIVEN])

    assert np.array_equal(loaded("y.npy"), np.maximum(image(), 0))


@pytest.mark.parametrize(
    ("target", "files"),
    [
        ("reference", {"lowered.mlir", "y.npy"}),
        ("npu", {"lowered.mlir", "program.npu", "y.npy"}),
        ("triton", {"lowered.mlir", "program.triton.py", "y.npy"}),
    ],
)
def test_what_is_dumped(target: str, files: set[str]):
    main(["other.mlir", "--target", target, "--dump-dir", "a/folder"])

    assert {path.name for path in Path("a/folder").iterdir()} == files


def test_no_folder_where_there_are_errors(capsys: pytest.CaptureFixture[str]):
    failure(capsys, "one.mlir", "-p", "no-such-pass", "--dump-dir", "a/folder")

    assert not Path("a").exists()


def test_seeds():
    def results(seed: str) -> Array:
        main(["other.mlir", "--seed", seed, "--dump-dir", "out"])
        return loaded("y.npy")

    first = results("0")
    assert np.array_equal(first, results("0"))
    assert not np.array_equal(first, results("1"))
    assert first.min() >= np.float32(2) ** 0.5
    assert first.max() <= np.float32(3) ** 0.5


@pytest.mark.parametrize("target", ["reference", "npu", "triton"])
def test_entry_chooses_a_function(target: str, capsys: pytest.CaptureFixture[str]):
    main(["two.mlir", "--entry", "g", "--target", target, "--check"])

    assert "result y" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "error"), [(1e-3, "1.0e-03"), (float("nan"), "inf")]
)
def test_wrong_results_fail(
    change: float,
    error: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    def wrong(
        module: ModuleOp, inputs: Mapping[str, Array], entry: str | None
    ) -> Sequence[Array]:
        (right,) = interpret(module, inputs, entry)
        return [np.multiply(right, np.float32(1 + change))]

    monkeypatch.setattr("tlf.tools.run_command.interpret_poison_free", wrong)

    with pytest.raises(SystemExit) as exit_:
        main(["other.mlir", "--check"])

    assert exit_.value.code == 1
    said = capsys.readouterr()
    assert said.err == ""
    assert f"{error} relative (at most 1e-05)" in said.out
    assert ": WRONG\n" in said.out


@pytest.mark.parametrize(
    ("input_", "message"),
    [
        ("x", "expected an input NAME=FILE.npy, got `x`"),
        ("=x.npy", "expected an input NAME=FILE.npy, got `=x.npy`"),
        ("x=", "expected an input NAME=FILE.npy, got `x=`"),
        ("z=x.npy", "expected an argument among x, n, b, got `z`"),
        (
            "x=no.npy",
            "cannot read input `x` from no.npy: No such file or directory",
        ),
        ("x=.", "cannot read input `x` from .: Is a directory"),
        ("x=empty.npy", f"{ARRAY}, got empty.npy"),
        ("x=one.mlir", f"{ARRAY}, got one.mlir"),
        ("x=archive.npz", f"{ARRAY}, got archive.npz"),
        ("x=cut.npy", f"{ARRAY}, got cut.npy: Failed to read all data"),
        ("x=header.npy", f"{ARRAY}, got header.npy: "),
        ("x=objects.npy", f"{ARRAY}, got objects.npy: its elements are Python objects"),
        (
            "x=f32.npy",
            "expected input `x` of bfloat16 and shape 3x4, got float32 and shape 3x4",
        ),
        (
            "x=f16.npy",
            "expected input `x` of bfloat16 and shape 3x4, got float16 and shape 3x4",
        ),
        (
            "x=turned.npy",
            "expected input `x` of bfloat16 and shape 3x4, got bfloat16 and shape 4x3",
        ),
        ("n=b.npy", "expected input `n` of int32 and shape 4, got bool and shape 2"),
    ],
)
def test_wrong_inputs(input_: str, message: str, capsys: pytest.CaptureFixture[str]):
    said = failure(capsys, "one.mlir", "--input", input_)

    assert said.startswith(f"tlf-run: error: {message}")


@pytest.mark.parametrize(
    ("layouts", "message"),
    [
        (
            ["foo"],
            "expected a layout `any`, NAME=any, or axes as NAME=0,2,3,1, got `foo`",
        ),
        (
            ["=0,1"],
            "expected a layout `any`, NAME=any, or axes as NAME=0,2,3,1, got `=0,1`",
        ),
        (
            ["x=1,-1"],
            "expected a layout `any`, NAME=any, or axes as NAME=0,2,3,1, got `x=1,-1`",
        ),
        (["z=any"], "expected a layout of one of x, n, b, y, m, c, got `z`"),
        (["x=0"], "expected the layout of x to order 2 axes, each once, got 0"),
        (["y=1,1"], "expected the layout of y to order 2 axes, each once, got 1,1"),
        (["m=0,1"], "expected the layout of m to order 1 axes, each once, got 0,1"),
        (["x=1,0", "any", "x=1,0"], "expected one layout of x, got two"),
        (["y=any", "y=0,1"], "expected one layout of y, got two"),
    ],
)
def test_wrong_layouts(
    layouts: list[str], message: str, capsys: pytest.CaptureFixture[str]
):
    words = [word for layout in layouts for word in ("--layout", layout)]

    said = failure(capsys, "one.mlir", "--target", "npu", *words)

    assert said == f"tlf-run: error: {message}"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: file"),
        (["one.mlir", "more"], "unrecognized arguments: more"),
        (["one.mlir", "--fast"], "unrecognized arguments: --fast"),
        (["one.mlir", "--seed", "x"], "argument --seed: invalid int value: 'x'"),
        (["one.mlir", "--seed=-1"], "expected a seed of at least 0, got -1"),
        (["no.mlir"], "cannot read `no.mlir`: No such file or directory"),
        (["."], "cannot read `.`: Is a directory"),
        (["x.npy"], "cannot read `x.npy`: byte 0 is not UTF-8"),
        (
            ["one.mlir", "--target", "no"],
            "expected a target (bm1684x-like, h200, npu, npu-4core, "
            "npu-tiny, u85-like, triton, reference) or a `.toml` file, got `no`",
        ),
        (["one.mlir", "--target", "no.toml"], "cannot read target `no.toml`: "),
        (["one.mlir", "-p", "no-such-pass"], "unknown pass `no-such-pass`"),
        (
            ["one.mlir", "--dump-dir", "one.mlir"],
            "expected a folder for `--dump-dir`, got the file one.mlir",
        ),
        (
            ["one.mlir", "--input", "x=x.npy", "--input", "x=f32.npy"],
            "expected one input `x`, got x.npy and f32.npy",
        ),
    ],
)
def test_wrong_command_lines(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
):
    assert failure(capsys, *arguments).startswith(f"tlf-run: error: {message}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["empty.npy"], "empty.npy:1:1: error: expected one function, got none"),
        (["comments"], "comments:2:1: error: expected one function, got none"),
        (
            ["two.mlir"],
            "two.mlir:2:1: error: expected one function, got f, g: "
            "`--entry` says which",
        ),
        (
            ["two.mlir", "--entry", "h"],
            "two.mlir:2:1: error: expected a function `h`, got f, g",
        ),
    ],
)
def test_functions_that_are_not_there(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
):
    Path("comments").write_text("// nothing\n", encoding="utf-8")

    assert failure(capsys, *arguments) == message


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("func.func @f(", "bad.mlir:1:14: error: expected argument or type, got "),
        (
            "func.func @f(%x: tensor<3xf32>) -> tensor<3xf32> {\n"
            "  %y = graph.exp %x : (tensor<3xf32>) -> tensor<4xf32>\n"
            "  func.return %x : tensor<3xf32>\n}",
            "bad.mlir:2:3: error: graph.exp: expected a result of shape 3, got 4",
        ),
        (
            "func.func @f(%x: f32) {\n  func.return\n}",
            "bad.mlir:1:1: error: expected arguments that are tensors, got f32",
        ),
        (
            "func.func @f(%x: tensor<?xf32>) {\n  func.return\n}",
            "bad.mlir:1:1: error: expected arguments of static shapes, got tensor<?x",
        ),
        (
            "func.func @f(%x: tensor<3xf32> {tlf.layout = array<i64: 1>}) {\n"
            "  func.return\n}",
            "bad.mlir:1:1: error: func.func: expected `tlf.layout` of argument 0 to ",
        ),
        (
            "func.func @f(%x: tensor<3xi24>) {\n  func.return\n}",
            "bad.mlir:1:1: error: expected a known element type, got i24",
        ),
        (
            "func.func @f(%x: tensor<3xf32>) -> tensor<3xf32> {\n"
            '  %y = "test.op"(%x) : (tensor<3xf32>) -> tensor<3xf32>\n'
            "  func.return %y : tensor<3xf32>\n}",
            "bad.mlir:2:3: error: test.op: expected an operation on tiles",
        ),
    ],
)
def test_wrong_programs(program: str, message: str, capsys: pytest.CaptureFixture[str]):
    Path("bad.mlir").write_text(program, encoding="utf-8")

    assert failure(capsys, "bad.mlir").startswith(message)


def test_operations_that_nothing_interprets(capsys: pytest.CaptureFixture[str]):
    text = OTHER.replace("graph.sqrt", "math.sqrt")
    Path("other.mlir").write_text(text, encoding="utf-8")

    said = failure(capsys, "other.mlir", "--target", "reference")

    assert "math.sqrt" in said


def test_what_does_not_fit_is_told(capsys: pytest.CaptureFixture[str]):
    preset = (
        Path(run_command.__file__).parents[1] / "dialects/target/presets/npu-tiny.toml"
    )
    small = preset.read_text(encoding="utf-8").replace("17179869184", "1024")
    Path("small.toml").write_text(small, encoding="utf-8")

    said = failure(capsys, "other.mlir", "--target", "small.toml")

    assert "L3" in said


def test_as_a_module():
    command = [sys.executable, "-m", "tlf.tools.tlf_run"]

    done = subprocess.run(
        [*command, "other.mlir", "--target", "reference", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "error of y" in done.stdout

    failed = subprocess.run(
        [*command, "no.mlir"], capture_output=True, text=True, check=False
    )
    assert failed.returncode == 1
    assert failed.stderr == (
        "tlf-run: error: cannot read `no.mlir`: No such file or directory\n"
    )


def test_reader_of_the_output_may_leave():
    command = f"{sys.executable} -u -m tlf.tools.tlf_run other.mlir --target npu"

    done = subprocess.run(
        f"{command} | head -n 1", shell=True, capture_output=True, text=True
    )

    assert done.stderr == ""
    assert done.stdout.split() == ["program", "other.mlir", "on", "npu"]
