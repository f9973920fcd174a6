"""
Check TLF on every operation of PyTorch's OpInfo database.

    python bench/opinfo.py --dtypes f32,bf16,f16,i64,bool --jobs 2
    python bench/opinfo.py --target npu --samples 3 --seed 0
    python bench/opinfo.py --only 'nn.functional.*pool*' --way compile

Each operation runs in a process of its own, sample by sample, through the backend of
`torch.compile`, or `tlf.compile`; `bench/opinfo_call.py` says how. With `--out FILE`
what was run is kept, a line of JSON for each operation, and not run again. A line is
printed for each fault, with the samples that have it, then a summary.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from fnmatch import fnmatchcase
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import torch
from opinfo_call import FAULTS, WAYS, CallOutcome
from opinfo_samples import SampleChoice, operations, skip_reason
from opinfo_worker import SampleTask, run_samples, warm_up

DTYPES: Mapping[str, torch.dtype] = {
    "f32": torch.float32,
    "bf16": torch.bfloat16,
    "f16": torch.float16,
    "i64": torch.int64,
    "bool": torch.bool,
}

COMPUTED = ("tlf", "mixed", "pytorch", "refused")
"""Outcomes without a fault."""


@dataclass(frozen=True)
class OperationRecord:
    """Outcomes of the samples of an operation."""

    operation: str
    dtype: str
    target: str
    way: str
    samples: int
    seed: int | None
    counts: dict[str, int] = field(default_factory=dict[str, int])
    """Number of samples, by outcome."""
    faults: list[list[str]] = field(default_factory=list[list[str]])
    """The number and the text of each sample with a fault, its outcome, and why."""
    reason: str = ""
    """Reason why samples were skipped, if any was."""

    @property
    def key(self) -> tuple[object, ...]:
        """Key of the request."""
        return (
            self.operation,
            self.dtype,
            self.target,
            self.way,
            self.samples,
            self.seed,
        )

    def with_outcomes(
        self, found: Sequence[tuple[int, str, CallOutcome]]
    ) -> OperationRecord:
        """The same with the outcomes of samples, by their numbers and texts."""
        faults = [
            [str(place), text, outcome.status, outcome.text]
            for place, text, outcome in found
            if outcome.status in FAULTS
        ]
        reasons = (each.text for _, _, each in found if each.status == "skipped")
        counts = Counter(outcome.status for _, _, outcome in found)
        reason = next(reasons, "")
        return replace(self, counts=dict(counts), faults=faults, reason=reason)

    def print_faults(self) -> None:
        """Print a line for each kind of fault, with the first sample that has it."""
        kinds: dict[str, list[list[str]]] = {}
        for fault in self.faults:
            kinds.setdefault(f"{fault[2]}: {fault[3].split(',')[0]}", []).append(fault)
        title = f"{self.operation} {self.dtype} {self.target} {self.way}"
        for faults in kinds.values():
            place, text, status, why = faults[0]
            others = f" and {len(faults) - 1} more" if len(faults) > 1 else ""
            print(
                f"{title} sample {place}{others} ({text}) {status}: {why}", flush=True
            )


@dataclass(frozen=True)
class OpInfoOptions:
    """The command line."""

    target: str
    way: str
    dtypes: tuple[str, ...]
    only: str
    choice: SampleChoice
    jobs: int
    timeout: float
    out: Path | None


def requested_records(options: OpInfoOptions) -> Iterator[OperationRecord]:
    """Yield the requested records, in order."""
    samples, seed = options.choice.count, options.choice.seed
    for dtype in options.dtypes:
        for name in operations():
            if fnmatchcase(name, options.only):
                yield OperationRecord(
                    name, dtype, options.target, options.way, samples, seed
                )


def read_records(file: Path | None) -> dict[tuple[object, ...], OperationRecord]:
    """Return the records of earlier runs, by key."""
    if file is None or not file.exists():
        return {}
    lines = file.read_text(encoding="utf-8").splitlines()
    found = [OperationRecord(**json.loads(line)) for line in lines]
    return {each.key: each for each in found}


def run_record(record: OperationRecord, options: OpInfoOptions) -> OperationRecord:
    """Run the samples of an operation."""
    operation, dtype = operations()[record.operation], DTYPES[record.dtype]
    if (reason := skip_reason(operation, dtype)) is not None:
        return record.with_outcomes([(0, "", CallOutcome("skipped", reason))])
    task = SampleTask(
        record.operation, dtype, record.way, record.target, options.choice
    )
    return record.with_outcomes(list(run_samples(task, options.timeout)))


def report_records(options: OpInfoOptions) -> Sequence[OperationRecord]:
    """Run what was not run yet, print faults, and count outcomes."""
    known = read_records(options.out)
    wanted = list(requested_records(options))
    if not wanted:
        raise SystemExit(f"opinfo: error: no operation matches `{options.only}`")
    left = [each for each in wanted if each.key not in known]
    for each in wanted:
        if each.key in known:
            known[each.key].print_faults()
    if left:
        warm_up()
    with ProcessPoolExecutor(options.jobs, get_context("fork")) as pool:
        for record in pool.map(partial(run_record, options=options), left):
            known[record.key] = record
            record.print_faults()
            if options.out is not None:
                with options.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(record)) + "\n")
    found = [known[each.key] for each in wanted]
    for dtype in options.dtypes:
        _summarise(dtype, [each for each in found if each.dtype == dtype])
    return found


def _summarise(dtype: str, found: Sequence[OperationRecord]) -> None:
    """Print the skipped operations, then counts of operations and of samples."""
    ran = [each for each in found if any(each.counts.get(n) for n in COMPUTED + FAULTS)]
    by_reason: dict[str, list[str]] = {}
    for each in found:
        if each not in ran:
            by_reason.setdefault(each.reason, []).append(each.operation)
    for reason, names in by_reason.items():
        print(f"{dtype} skipped, {reason or 'no samples'}: {', '.join(names)}")
    right = [each for each in ran if not each.faults]
    counts: Counter[str] = Counter()
    for each in found:
        counts.update(each.counts)
    parts = [f"{counts[name]} {name}" for name in (*COMPUTED, *FAULTS, "skipped")]
    print(f"{dtype}: {len(right)} of {len(ran)} operations right; {', '.join(parts)}")


def parse_arguments(arguments: Sequence[str] | None = None) -> OpInfoOptions:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().split("\n")[0])
    parser.add_argument("--target", default="reference")
    parser.add_argument("--way", choices=WAYS, default="backend")
    parser.add_argument("--dtypes", default="f32", help=f"among {','.join(DTYPES)}")
    parser.add_argument("--only", default="*", help="a glob pattern of names")
    parser.add_argument("--samples", type=int, default=0, help="at most; 0 is all")
    parser.add_argument("--seed", type=int, help="choose samples by it, not the first")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--timeout", type=float, default=120, help="seconds a sample")
    parser.add_argument("--out", type=Path, help="a file of what was run")
    found = parser.parse_args(arguments)
    dtypes = tuple(found.dtypes.split(","))
    if unknown := [each for each in dtypes if each not in DTYPES]:
        parser.error(f"expected dtypes among {','.join(DTYPES)}, got {unknown[0]}")
    return OpInfoOptions(
        found.target,
        found.way,
        dtypes,
        found.only,
        SampleChoice(found.samples, found.seed),
        found.jobs,
        found.timeout,
        found.out,
    )


if __name__ == "__main__":
    report_records(parse_arguments())
