"""
GPU gate: checks the results and the performance of compiled programs on a GPU.

    python bench/gpu_gate.py --record bench/records/gpu.json
    python bench/gpu_gate.py --tier full --minutes 9 --state run.json --seed 7
    python bench/gpu_gate.py --against bench/records/gpu.json

Rows are networks, their kernels and layers, decoding steps, kernels of random sizes
drawn from a seed, and, in the full tier, the problems with even numbers of a
KernelBench checkout if one is given. Each row reports the errors of TLF and of PyTorch
against f64; the times of PyTorch, of its compiler, of fused functions of PyTorch and of
TLF, called from Python and in a CUDA graph; the seconds of first calls; the peak memory
of a call above weights and values prepared from them; and the resources of kernels.
`ratio` is the time of the fastest peer divided by the time of TLF, both in graphs.

`--against` compares with a record of the same GPU model, and exits with 1 if a row is
wrong, failed, needs more memory or lost more than 5 % of its ratio. A run that reached
its limit of `--minutes` resumes with the same `--state`. The rows of a record name the
commit at which they were run.
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
"""Compile time limit of a row, in seconds."""

BATCH_SIZES = {"": 64, "kernelbench level 2": 12, "kernelbench level 1": 6}
"""
Number of rows that are compiled before they are timed one by one, by prefix of their
names; some rows hold gigabytes of GPU memory.
"""

COMPILE_SHARE = 0.65
"""Share of the remaining time in which the rows of a batch may compile."""


class GateOptions(argparse.Namespace):
    """Command-line options."""

    tier: str
    only: list[str]
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
    """Row in its process: ready to be timed, or with its output."""

    name: str
    process: subprocess.Popen[str]
    ready: bool = False
    output: str = ""
    is_cut_off: bool = False
    """True if the run ended before the compile time limit of the row."""


def start_row(
    name: str, options: GateOptions, lock: Path, deadline: float
) -> StartedRow:
    """Compile and check a row; return when it can be timed, or at the deadline."""
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
    """Time a row that is ready, and return its results."""
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
    """Yield batches of rows that fit into the memory of a GPU together."""
    batches: dict[str, list[str]] = {start: [] for start in BATCH_SIZES}
    for name in names:
        batches[max(filter(name.startswith, batches), key=len)].append(name)
    for start, batch in batches.items():
        size = BATCH_SIZES[start]
        for offset in range(0, len(batch), size):
            yield batch[offset : offset + size]


def run_rows(names: Sequence[str], options: GateOptions, found: dict[str, Any]) -> bool:
    """Run rows until the time limit; return `True` if all rows were run."""
    deadline = time.monotonic() + 60 * options.minutes
    is_complete = True
    with tempfile.TemporaryDirectory() as folder:
        lock = Path(folder, "gpu.lock")
        for batch in split_batches(names):
            if time.monotonic() > deadline - 60:
                return False
            seconds = COMPILE_SHARE * (deadline - time.monotonic())
            compile_deadline = time.monotonic() + seconds
            start = partial(
                start_row, options=options, lock=lock, deadline=compile_deadline
            )
            with ThreadPoolExecutor(options.jobs) as pool:
                started = list(pool.map(start, batch))
            for each in started:
                row = finish_row(each)
                print(f"{each.name:<40} {format_row(row)}", flush=True)
                if each.is_cut_off:
                    is_complete = False
                    continue
                found[each.name] = row
                if options.state is not None:
                    write_record(options.state, {"rows": found})
    return is_complete


def format_row(row: dict[str, Any]) -> str:
    """Return the results of a row as one line."""
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
        f"peak {row['tlf memory MB']:.0f} of {row['eager memory MB']:.0f} MB; "
        f"spills {row['spills']}, shared {row['shared']}"
    )


def describe_run(commit: str) -> tuple[str, Record]:
    """Return the name of the GPU, and the commit and versions of the run."""
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
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return result.stdout.strip()


def select_rows(options: GateOptions) -> list[str]:
    """Return the names of the rows to run; the seed rotates the full tier."""
    from gpu_gate_rows import CORE, gate_rows

    rows = gate_rows(options.seed, options.kernelbench)
    names = [
        row.name
        for row in rows
        if any(part in row.name for part in options.only or [""])
        and (options.tier != CORE or row.tier == CORE)
    ]
    if options.tier == CORE or not names:
        return names
    offset = options.seed % len(names)
    return names[offset:] + names[:offset]


def _rows_of(card: str, path: Path | None) -> dict[str, Any]:
    """Return the rows of a GPU in a record, or no rows if the record has none."""
    if path is None:
        return {}
    record: dict[str, Any] = read_record(path)["cards"].get(card, {"rows": {}})
    return record["rows"]


def parse_arguments(arguments: Sequence[str] | None) -> GateOptions:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().split("\n")[0])
    parser.add_argument("--tier", default="core", choices=("core", "full"))
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="PART",
        help="part of the names of rows; several may be given",
    )
    parser.add_argument("--seed", type=int, default=0, help="of drawn sizes")
    parser.add_argument(
        "--minutes", type=float, default=9, help="time limit of the run"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--state", type=Path, help="file to resume an unfinished run")
    parser.add_argument("--record", type=Path, help="record to write the rows to")
    parser.add_argument("--against", type=Path, help="record to compare with")
    parser.add_argument("--commit", default="", help="commit, if git does not know it")
    parser.add_argument("--kernelbench", type=Path, help="checkout to take rows from")
    return parser.parse_args(arguments, namespace=GateOptions())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the gate, and return the exit status."""
    options = parse_arguments(arguments)
    if lacks_gpu(__file__):
        return 1
    results: dict[str, Any] = {}
    if options.state is not None and options.state.exists():
        results = read_record(options.state)["rows"]
    names = [name for name in select_rows(options) if name not in results]
    is_complete = run_rows(names, options, results)
    card, about = describe_run(options.commit)
    faults = compare_rows(results, _rows_of(card, options.against))
    if options.record is not None:
        record = read_record(options.record)
        dated = {
            name: {**row, "commit": about["commit"]} for name, row in results.items()
        }
        rows = {**_rows_of(card, options.record), **dated}
        record["cards"][card] = {**about, "rows": rows}
        record["commit"] = about["commit"]
        write_record(options.record, record)
    print("\n".join(faults))
    print(f"{len(results)} rows on {card}, {len(faults)} faults")
    if not is_complete:
        print("time limit reached; run again with the same --state")
    return int(bool(faults) or not is_complete)


if __name__ == "__main__":
    sys.exit(main())
