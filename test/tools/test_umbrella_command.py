"""`tlf`: its subcommands are the tools, and what is said of mistakes."""

import tomllib
from collections.abc import Callable, Sequence
from importlib.metadata import version

import pytest
from python_sources import ROOT

from tlf.tools.umbrella_command import SUBCOMMANDS, load_tool, main


def output(
    capsys: pytest.CaptureFixture[str],
    tool: Callable[[Sequence[str]], object],
    *arguments: str,
) -> tuple[int, str, str]:
    """Return the exit status of a tool, and its output."""
    with pytest.raises(SystemExit) as end:
        tool(arguments)
    printed = capsys.readouterr()
    assert isinstance(end.value.code, int)
    return end.value.code, printed.out, printed.err


def test_help_lists_all_subcommands(capsys: pytest.CaptureFixture[str]):
    status, text, _ = output(capsys, main, "--help")
    lines = [line.split(maxsplit=1) for line in text.splitlines()]
    assert status == 0
    assert text.startswith("usage: tlf [-h] [--version] SUBCOMMAND ...\n")
    for name, subcommand in SUBCOMMANDS.items():
        assert [name, subcommand.summary] in lines


def test_every_tool_is_a_subcommand():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    scripts = tomllib.loads(text)["project"]["scripts"]
    former = {
        name.removeprefix("tlf-"): target
        for name, target in scripts.items()
        if name != "tlf"
    }
    assert scripts["tlf"] == "tlf.tools.umbrella_command:main"
    assert (
        former.items()
        <= {
            name: f"tlf.tools.{each.module}:main" for name, each in SUBCOMMANDS.items()
        }.items()
    )
    assert [*SUBCOMMANDS] == sorted(SUBCOMMANDS)


@pytest.mark.parametrize("name", SUBCOMMANDS)
@pytest.mark.parametrize("option", ["--help", "--version"])
def test_subcommands_show_their_own_name(
    name: str,
    option: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("COLUMNS", "1000")  # so that no line is broken
    status, text, _ = output(capsys, main, name, option)
    shown = "usage: tlf {}" if option == "--help" else "tlf {} " + version("tlf")
    assert (status, text.startswith(shown.format(name))) == (0, True)
    _, alone, _ = output(capsys, load_tool(name), option)
    assert alone.replace(f"tlf-{name}", f"tlf {name}") == text


def test_subcommand_of_a_subcommand(capsys: pytest.CaptureFixture[str]):
    status, text, _ = output(capsys, main, "bench", "ablate", "--help")
    assert (status, text.startswith("usage: tlf bench ablate ")) == (0, True)
    message = "tlf bench: error: the following arguments are required: FILE\n"
    assert output(capsys, main, "bench", "ablate") == (1, "", message)


LISTED = ", ".join(f"`{name}`" for name in SUBCOMMANDS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", f"tlf: error: expected a subcommand ({LISTED}), got none"),
        (
            "optt f.mlir --list",
            f"tlf: error: expected a subcommand ({LISTED}), got `optt`, "
            "did you mean `opt`?",
        ),
        ("--lists opt", "tlf: error: unrecognized arguments: --lists"),
        ("opt --lists", "tlf opt: error: unrecognized arguments: --lists"),
        ("opt -p x", "tlf opt: error: unknown pass `x`"),
        ("run none.mlir", "tlf run: error: cannot read `none.mlir`: No such"),
        ("explain none.mlir", "tlf explain: error: cannot read `none.mlir`: No such"),
        ("plan --csv none.csv", "tlf plan: error: cannot read `none.csv`: No such"),
        ("bench ablate none.mlir", "tlf bench: error: cannot read `none.mlir`: No"),
        ("import none -o x", "tlf import: error: expected `package.module:name` or"),
    ],
)
def test_errors(arguments: str, message: str, capsys: pytest.CaptureFixture[str]):
    status, text, error = output(capsys, main, *arguments.split())
    assert (status, text, error.count("\n")) == (1, "", 1)
    assert error.startswith(message)
