"""Interrupted tools: they end with one line, leave no file and no process behind."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep

import pytest
from python_sources import ROOT

from tlf.runtime.interruption import exit_on_interruption

EXAMPLE = ROOT / "examples/transformer_layer.mlir"
MESSAGES = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}

RUN = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from tlf.tools.umbrella_command import main
main()
"""
"""Runs `tlf` as from a terminal, in which the interruption is not ignored."""

ENDLESS = """.npu 1
.level L1 capacity=1024 bandwidth=64 latency=0 burst=1 alignment=1
.code
loop %i = 0 to 1000000000 {
  %a = mul %i 2
}
halt
"""
"""A program for the simulator."""

SIMULATE = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from tlf.runtime.npu.__main__ import main
main()
"""


def start(folder: Path, *arguments: object) -> subprocess.Popen[str]:
    """Start `tlf` in a folder."""
    return start_command(folder, [sys.executable, "-c", RUN, *map(str, arguments)])


def start_command(folder: Path, command: Sequence[str]) -> subprocess.Popen[str]:
    """Start a command as the leader of a group of processes."""
    return subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def end(process: subprocess.Popen[str], number: signal.Signals) -> str:
    """Send a signal to a tool, which must end at once; return its last line."""
    process.send_signal(number)
    started = monotonic()
    printed, message = process.communicate(timeout=30)
    assert (process.returncode, printed) == (128 + number, "")
    assert monotonic() - started < 10
    return message


def count_processes(group: int) -> int:
    """Return the number of running processes of a group."""
    count = 0
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # of a process that has just ended
            state, _, member_of = file.read_text().rpartition(")")[2].split()[:3]
            count += state != "Z" and int(member_of) == group
    return count


def wait_for_processes(group: int, condition: Callable[[int], bool]) -> bool:
    """Wait until the number of processes of a group meets a condition."""
    for _ in range(200):
        if condition(count_processes(group)):
            return True
        sleep(0.05)
    return False


@pytest.mark.one_in(1 / 4)
@pytest.mark.parametrize("number", MESSAGES)
def test_between_passes(number: signal.Signals, tmp_path: Path):
    output = tmp_path / "out.mlir"
    output.write_text("before", encoding="utf-8")
    passes = "canonicalize,npu-pipeline", "--print-ir-after=canonicalize"
    process = start(
        tmp_path, "opt", EXAMPLE, "--target", "npu", "-o", output, "-p", *passes
    )
    assert process.stderr is not None
    assert process.stderr.readline().startswith("// -----// IR after canonicalize")
    last = end(process, number).splitlines()[-1]
    assert last == f"tlf opt: {MESSAGES[number]}"
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [
        ("out.mlir", "before")
    ]


@pytest.mark.one_in(1 / 4)
@pytest.mark.skipif(not Path("/proc").exists(), reason="processes are not listed")
@pytest.mark.parametrize("number", MESSAGES)
@pytest.mark.parametrize("is_sent_to_all", [False, True])
def test_workers(number: signal.Signals, is_sent_to_all: bool, tmp_path: Path):
    process = start(tmp_path, "bench", "baselines", "--jobs", 2, EXAMPLE)
    assert wait_for_processes(process.pid, lambda count: count > 2)
    if is_sent_to_all:
        os.killpg(process.pid, number)
    assert end(process, number) == f"tlf bench: {MESSAGES[number]}\n"
    assert wait_for_processes(process.pid, lambda count: count == 0)


@pytest.mark.parametrize("number", MESSAGES)
def test_simulator(number: signal.Signals, tmp_path: Path):
    os.mkfifo(tmp_path / "program.npu")
    command = [sys.executable, "-c", SIMULATE, "program.npu", "--json", "out.json"]
    process = start_command(tmp_path, command)
    (tmp_path / "program.npu").write_text(ENDLESS)  # when it is read
    sleep(0.2)
    assert end(process, number) == f"python -m tlf.runtime.npu: {MESSAGES[number]}\n"
    assert [each.name for each in tmp_path.iterdir()] == ["program.npu"]


@pytest.mark.parametrize("number", MESSAGES)
def test_messages_of_what_is_interrupted(number: signal.Signals):
    """Another error in place of the interruption, and what is printed, are no news."""
    program = f"""
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from tlf.runtime.interruption import exit_on_interruption
with exit_on_interruption("tool"):
    try:
        eval("signal.raise_signal({int(number)})")
    except KeyboardInterrupt as error:
        print("failed to import", file=sys.stderr)
        raise ImportError from error
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        128 + number,
        f"tool: {MESSAGES[number]}\n",
    )


def test_interruptions_that_are_lost_end_the_script():
    program = f"""
import signal, sys
from contextlib import suppress
from tlf.runtime.interruption import exit_on_interruption
with exit_on_interruption("tool"), suppress(KeyboardInterrupt):
    signal.raise_signal({int(signal.SIGTERM)})
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (143, "tool: terminated\n")


def test_without_a_signal(capsys: pytest.CaptureFixture[str]):
    before = [signal.getsignal(number) for number in MESSAGES]
    with exit_on_interruption("tool"):
        assert signal.getsignal(signal.SIGTERM) not in before
    with pytest.raises(ValueError, match="own"), exit_on_interruption("tool"):
        raise ValueError("own")
    assert [signal.getsignal(number) for number in MESSAGES] == before
    assert capsys.readouterr().err == ""


def test_ignored_signals_stay_ignored():
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with exit_on_interruption("tool"):
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, previous)
