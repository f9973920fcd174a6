"""
The GPU gate: what TLF compiles is right on a GPU, and as fast as it was.

    python bench/gpu_gate.py --record bench/records/gpu.json
    python bench/gpu_gate.py --tier full --minutes 9 --state run.json --seed 7
    python bench/gpu_gate.py --against bench/records/gpu.json

Rows are networks, the kernels and layers that they are made of, decoding steps, sizes
drawn by a seed, and, in the full tier, the problems with even numbers of a checkout of
KernelBench if one is given. Each tells its error against f64 and that of PyTorch, times
of PyTorch, of its compiler, of fused functions of PyTorch and of TLF, as called and in
a CUDA graph, the seconds of first calls, and what kernels and calls take. `ratio` is
the time of the best of the others over that of TLF, both in graphs.

`--against` compares with a record of a card of the same model, and exits with 1 if a
row is wrong, failed or lost more than 5 % of its ratio. A run that `--minutes` ended
goes on where it was with the same `--state`. Rows of a record say at which commit
they were run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from gpu_check import lacks_gpu
from gpu_gate_record import Record, compare_rows, read_record, write_record

WORKER = Path(__file__).with_name("gpu_gate_worker.py")

ROW_SECONDS = 420
"""The most seconds that a row may compile."""

BATCH_SIZES = {"": 64, "kernelbench level 2": 12, "kernelbench level 1": 6}
"""
Rows that are compiled before they are timed, one after the other, by how their names
begin: some hold gigabytes.
"""

COMPILE_SHARE = 0.65
"""The part of the time that is left which rows may compile, before they are timed."""


class GateOptions(argparse.Namespace):
    """The command line."""

    tier: str
    only: str
    seed: int
    minutes: float
    jobs: int
    state: Path | None
    record: Path | None
    against: Path | None
    commit: str
    kernelbench: Path | None


@dataclass
class StartedRow:
    """A row in its process, ready to be timed, or with what came of it."""

    name: str
    process: subprocess.Popen[str]
    ready: bool = False
    output: str = ""
    is_cut_off: bool = False
    """True if the run ended before the row had its seconds to compile."""


def start_row(
    name: str, options: GateOptions, lock: Path, deadline: float
) -> StartedRow:
    """Compile and check a row; return once it can be timed, or at the deadline."""
    checkout = [] if options.kernelbench is None else [str(options.kernelbench)]
    process = subprocess.Popen(
        [sys.executable, str(WORKER), name, str(options.seed), str(lock), *checkout],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    started = StartedRow(name, process)
    limit = min(ROW_SECONDS, max(1.0, deadline - time.monotonic()))
    with ThreadPoolExecutor(1) as reader:
        assert process.stdout is not None
        line = reader.submit(process.stdout.readline)
        try:
            started.output = line.result(limit).strip()
        except TimeoutError:
            process.kill()
            started.output = json.dumps({"failed": f"not compiled in {limit:.0f} s"})
            started.is_cut_off = limit < ROW_SECONDS
    started.ready = started.output == "ready"
    return started


def finish_row(started: StartedRow) -> dict[str, Any]:
    """Time a row that is ready, and return what came of it."""
    text = started.output
    if started.ready:
        try:
            text, _ = started.process.communicate("go\n", timeout=60)
        except subprocess.TimeoutExpired:
            text = json.dumps({"failed": "not timed in 60 s"})
    started.process.kill()
    lines = text.strip().splitlines()
    try:
        return json.loads(lines[-1])
    except (IndexError, json.JSONDecodeError):
        return {"failed": f"ended with status {started.process.wait()}"}


def split_batches(names: Sequence[str]) -> Iterator[Sequence[str]]:
    """Parts of the rows that fit into the memory of a GPU together."""
    parts: dict[str, list[str]] = {start: [] for start in BATCH_SIZES}
    for name in names:
        parts[max(filter(name.startswith, parts), key=len)].append(name)
    for start, part in parts.items():
        size = BATCH_SIZES[start]
        for at in range(0, len(part), size):
            yield part[at : at + size]


def run_rows(names: Sequence[str], options: GateOptions, found: dict[str, Any]) -> bool:
    """Run rows until the time is over; return whether all were run."""
    deadline = time.monotonic() + 60 * options.minutes
    is_whole = True
    with tempfile.TemporaryDirectory() as folder:
        lock = Path(folder, "gpu.lock")
        for part in split_batches(names):
            if time.monotonic() > deadline - 60:
                return False
            left = COMPILE_SHARE * (deadline - time.monotonic())
            until = time.monotonic() + left
            one = partial(start_row, options=options, lock=lock, deadline=until)
            with ThreadPoolExecutor(options.jobs) as pool:
                started = list(pool.map(one, part))
            for each in started:
                row = finish_row(each)
                print(f"{each.name:<40} {format_row(row)}", flush=True)
                if each.is_cut_off:
                    is_whole = False
                    continue
                found[each.name] = row
                if options.state is not None:
                    write_record(options.state, {"rows": found})
    return is_whole


def format_row(row: dict[str, Any]) -> str:
    """A row in one line."""
    if "failed" in row:
        return f"failed: {row['failed']}"
    if "example error" in row:
        return f"error {row['example error']:.1e}"
    times = " ".join(
        f"{key.removesuffix(' graph us')} {value:.0f}"
        for key, value in row.items()
        if key.endswith("graph us")
    )
    return (
        f"error {row['tlf error']:.1e} of {row['eager error']:.1e}; us {times}; "
        f"ratio {row.get('ratio', 0):.2f}; called {row.get('tlf called us', 0):.0f}; "
        f"first {row['tlf first s']:.0f} of {row['inductor first s']:.0f} s; "
        f"spills {row['spills']}, shared {row['shared']}"
    )


def describe_run(commit: str) -> tuple[str, Record]:
    """The card, and what is known of the run."""
    torch: Any = import_module("torch")
    triton: Any = import_module("triton")
    return str(torch.cuda.get_device_name()), {
        "commit": commit or _current_commit(),
        "torch": torch.__version__,
        "triton": triton.__version__,
        "cuda": str(torch.version.cuda),
    }


def _current_commit() -> str:
    command = ["git", "rev-parse", "HEAD"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return found.stdout.strip()


def select_rows(options: GateOptions) -> list[str]:
    """The names of the rows to run; the seed says where the full tier starts."""
    from gpu_gate_rows import CORE, gate_rows

    known = gate_rows(options.seed, options.kernelbench)
    names = [
        row.name
        for row in known
        if options.only in row.name and (options.tier != CORE or row.tier == CORE)
    ]
    if options.tier == CORE or not names:
        return names
    turn = options.seed % len(names)
    return names[turn:] + names[:turn]


def _rows_of(card: str, path: Path | None) -> dict[str, Any]:
    """The rows of a card in a record, if it is there."""
    if path is None:
        return {}
    found: dict[str, Any] = read_record(path)["cards"].get(card, {"rows": {}})
    return found["rows"]


def parse_arguments(arguments: Sequence[str] | None) -> GateOptions:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().split("\n")[0])
    parser.add_argument("--tier", default="core", choices=("core", "full"))
    parser.add_argument("--only", default="", help="part of the names of rows")
    parser.add_argument("--seed", type=int, default=0, help="of drawn sizes")
    parser.add_argument("--minutes", type=float, default=9, help="the most to run")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--state", type=Path, help="where an unfinished run goes on")
    parser.add_argument("--record", type=Path, help="record to put the rows into")
    parser.add_argument("--against", type=Path, help="record to compare with")
    parser.add_argument("--commit", default="", help="what is run, if git does not say")
    parser.add_argument("--kernelbench", type=Path, help="checkout to take rows from")
    return parser.parse_args(arguments, namespace=GateOptions())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the gate, and return the exit status."""
    options = parse_arguments(arguments)
    if lacks_gpu(__file__):
        return 1
    found: dict[str, Any] = {}
    if options.state is not None and options.state.exists():
        found = read_record(options.state)["rows"]
    names = [name for name in select_rows(options) if name not in found]
    is_whole = run_rows(names, options, found)
    card, about = describe_run(options.commit)
    said = compare_rows(found, _rows_of(card, options.against))
    if options.record is not None:
        record = read_record(options.record)
        dated = {
            name: {**row, "commit": about["commit"]} for name, row in found.items()
        }
        rows = {**_rows_of(card, options.record), **dated}
        record["cards"][card] = {**about, "rows": rows}
        record["commit"] = about["commit"]
        write_record(options.record, record)
    print("\n".join(said))
    print(f"{len(found)} rows on {card}, {len(said)} faults")
    if not is_whole:
        print("the time is over; run again with the same --state")
    return int(bool(said) or not is_whole)


if __name__ == "__main__":
    sys.exit(main())
