"""The line on a terminal that shows the progress of what takes long."""

import fcntl
import os
import pty
import struct
import sys
import termios
from collections.abc import Generator, Sequence
from contextlib import contextmanager, redirect_stderr
from functools import partial
from io import StringIO
from select import select
from time import sleep

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

import tlf
from tlf.compiler.api import compiled_program
from tlf.compiler.driver import progress_display
from tlf.compiler.driver.driver import new_context
from tlf.compiler.driver.pass_manager import PassManager
from tlf.compiler.driver.progress_display import DELAY, format_steps, show_progress
from tlf.support.progress import (
    ProgressStep,
    are_steps_collected,
    collect_steps,
    report_step,
)
from tlf.tools.define_tool import define_tool


class Terminal:
    """A terminal, and what is shown on it."""

    def __init__(self) -> None:
        self._screen, slave = pty.openpty()
        self.stream = open(slave, "w", encoding="utf-8")
        self.text = ""
        """All that was written to the terminal."""

    @contextmanager
    def show(self, is_default: bool = True, delay: float = 0.0) -> Generator[None]:
        """Show progress on the terminal, as sys.stderr."""
        with redirect_stderr(self.stream), show_progress(is_default, delay):
            yield

    def resize(self, columns: int) -> None:
        size = struct.pack("HHHH", 24, columns, 0, 0)
        fcntl.ioctl(self.stream.fileno(), termios.TIOCSWINSZ, size)

    def read(self) -> str:
        """Read until nothing was written for a while."""
        while select([self._screen], [], [], 0.05)[0]:
            self.text += os.read(self._screen, 1 << 16).decode()
        return self.text

    def wait_for(self, text: str) -> None:
        """Wait until a text was written."""
        for _ in range(100):
            if text in self.read():
                return
        raise AssertionError(f"expected {text!r}, got {self.text!r}")

    def screen(self) -> list[str]:
        """Return the lines that are visible."""
        lines, column = [""], 0
        for each in self.read():
            if each == "\n":
                lines.append("")
            column = {"\n": 0, "\r": 0, "\b": column - 1}.get(each, column + 1)
            if each.isprintable():
                lines[-1] = lines[-1].ljust(column)
                lines[-1] = lines[-1][: column - 1] + each + lines[-1][column:]
        return [line.rstrip() for line in lines]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Generator[Terminal]:
    terminal = Terminal()
    terminal.resize(80)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("TLF_PROGRESS", raising=False)
    yield terminal
    terminal.stream.close()


def test_line_is_updated_and_erased(terminal: Terminal):
    with terminal.show():
        with report_step("first-pass", 1, 2):
            terminal.wait_for("\r[1/2] first-pass 0.")
        with report_step("other", 2, 2):
            terminal.wait_for("\r[2/2] other 0.")
            assert terminal.screen()[0].startswith("[2/2] other 0.")
            assert "first" not in terminal.screen()[0]
    assert terminal.screen() == [""]
    assert "\x1b" not in terminal.text


def test_other_output_is_on_lines_of_its_own(terminal: Terminal):
    with terminal.show(), report_step("step"):
        terminal.wait_for("\rstep")
        print("warning", file=sys.stderr)
        print("begun", end="", file=sys.stderr, flush=True)
        sleep(0.3)
        print(", ended", file=sys.stderr, flush=True)
        terminal.read()
        sleep(0.2)
        *before, line = terminal.screen()
    assert before == ["warning", "begun, ended"]
    assert line.startswith("step ")
    assert terminal.screen() == ["warning", "begun, ended", ""]


def test_line_is_cut_on_narrow_terminals(terminal: Terminal):
    terminal.resize(20)
    with terminal.show(), report_step("a-long-name-of-a-pass", 1, 2):
        terminal.wait_for("\r[1/2] a-lon 0.")
        assert len(terminal.screen()[0]) == 17
    assert terminal.screen() == [""]


def test_terminals_of_unknown_size(terminal: Terminal):
    terminal.resize(0)
    with terminal.show(), report_step("step"):
        terminal.wait_for("\rstep 0.")
    assert terminal.screen() == [""]


def test_echo_of_an_interruption_is_erased(terminal: Terminal):
    with terminal.show(), report_step("step"):
        terminal.wait_for("\rstep")
        os.write(terminal.stream.fileno(), b"^C")
    assert terminal.screen() == [""]


@pytest.mark.parametrize(
    ("is_default", "variables", "is_shown"),
    [
        (True, {}, True),
        (True, {"NO_COLOR": "1"}, True),  # there is no color
        (True, {"TLF_PROGRESS": "0"}, False),
        (True, {"TERM": "dumb"}, False),
        (False, {}, False),
        (False, {"TLF_PROGRESS": "1"}, True),
    ],
)
def test_environment(
    is_default: bool,
    variables: dict[str, str],
    is_shown: bool,
    terminal: Terminal,
    monkeypatch: pytest.MonkeyPatch,
):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with terminal.show(is_default), report_step("step"):
        if is_shown:
            terminal.wait_for("\rstep")
        assert (sys.stderr is terminal.stream) != is_shown
    assert bool(terminal.read()) == is_shown


def test_nothing_is_shown_of_short_runs(terminal: Terminal):
    with terminal.show(delay=DELAY), report_step("step"):
        sleep(0.2)
    assert terminal.read() == ""


def test_nothing_is_shown_in_a_pipe():
    stream = StringIO()
    with redirect_stderr(stream), show_progress(True, 0), report_step("step"):
        assert sys.stderr is stream
        sleep(0.2)
    assert stream.getvalue() == ""


def test_one_display_at_a_time(terminal: Terminal):
    with terminal.show():
        stream = sys.stderr
        with show_progress(True, 0):
            assert sys.stderr is stream


def test_tools_show_it(terminal: Terminal, monkeypatch: pytest.MonkeyPatch):
    @define_tool("tool")
    def main(arguments: Sequence[str] | None, tool: str) -> None:
        with report_step(tool):
            terminal.wait_for("\rtool 0.")
        print("end", file=sys.stderr)

    at_once = partial(show_progress, delay=0)
    monkeypatch.setattr(progress_display, "show_progress", at_once)
    with redirect_stderr(terminal.stream):
        main()
    assert terminal.screen() == ["end", ""]


def test_library_shows_it_if_asked(terminal: Terminal, monkeypatch: pytest.MonkeyPatch):
    program = "func.func @f() {\n  func.return\n}"
    was_asked: list[bool] = []

    def observe(*_: object) -> None:
        was_asked.append(are_steps_collected())

    monkeypatch.setattr(compiled_program, "verify_module", observe)
    for value in "10":
        monkeypatch.setenv("TLF_PROGRESS", value)
        with redirect_stderr(terminal.stream):
            tlf.compile(program)
    assert was_asked == [True, False]


def test_format():
    steps = [
        ProgressStep("outer", 1, 2, 0.0),
        ProgressStep("inner\x1b", start=1.0, fraction=0.256),
    ]
    assert format_steps(steps, 4.04, 40) == "[1/2] outer > inner? 26% 3.0 s"
    assert format_steps(steps, 4.04, 29) == "inner? 26% 3.0 s"
    assert format_steps(steps, 4.04, 12) == "in 26% 3.0 s"
    assert format_steps(steps, 4.04, 4) == " 26%"
    assert format_steps(steps, 4.04, -1) == ""
    assert format_steps([], 4.04, 40) == ""


def test_passes_are_reported():
    seen: list[tuple[str, int | None, int | None]] = []

    class Pass(ModulePass):
        name = "test"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            seen.extend((each.name, each.number, each.count) for each in steps)

    with collect_steps() as steps:
        PassManager([Pass(), Pass()]).run(new_context(), ModuleOp([]))
        assert [*steps] == []
    assert seen == [("test", 1, 2), ("test", 2, 2)]
