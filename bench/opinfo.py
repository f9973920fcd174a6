"""
Check TLF on every operation of PyTorch's OpInfo database.

    python bench/opinfo.py --dtypes f32,bf16,f16,i64,bool --jobs 2
    python bench/opinfo.py --target npu --samples 3 --seed 0
    python bench/opinfo.py --only 'nn.functional.*pool*' --way compile

Each operation runs in its own process, sample by sample, through the backend of
`torch.compile` or through `tlf.compile`; see `bench/opinfo_call.py`. With `--out FILE`,
the outcomes are appended, a line of JSON for each operation, and recorded operations do
not run again. Prints a line for each fault, with the affected samples, then a summary.
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
    """Sample index, sample text, outcome and reason of each sample with a fault."""
    reason: str = ""
    """Reason for skipped samples, if any sample was skipped."""

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
        """
        Return a copy with the outcomes of samples, given with their indices and texts.
        """
        faults = [
            [str(index), text, outcome.status, outcome.text]
            for index, text, outcome in found
            if outcome.status in FAULTS
        ]
        reasons = (each.text for _, _, each in found if each.status == "skipped")
        counts = Counter(outcome.status for _, _, outcome in found)
        reason = next(reasons, "")
        return replace(self, counts=dict(counts), faults=faults, reason=reason)

    def print_faults(self) -> None:
        """Print a line for each kind of fault, with the first affected sample."""
        kinds: dict[str, list[list[str]]] = {}
        for fault in self.faults:
            kinds.setdefault(f"{fault[2]}: {fault[3].split(',')[0]}", []).append(fault)
        title = f"{self.operation} {self.dtype} {self.target} {self.way}"
        for faults in kinds.values():
            index, text, status, cause = faults[0]
            others = f" and {len(faults) - 1} more" if len(faults) > 1 else ""
            print(
                f"{title} sample {index}{others} ({text}) {status}: {cause}", flush=True
            )


@dataclass(frozen=True)
class OpInfoOptions:
    """Command-line options."""

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
    records = [OperationRecord(**json.loads(line)) for line in lines]
    return {each.key: each for each in records}


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
    """Run the operations without a record, print faults, and count outcomes."""
    known = read_records(options.out)
    requested = list(requested_records(options))
    if not requested:
        raise SystemExit(f"opinfo: error: no operation matches `{options.only}`")
    remaining = [each for each in requested if each.key not in known]
    for each in requested:
        if each.key in known:
            known[each.key].print_faults()
    if remaining:
        warm_up()
    with ProcessPoolExecutor(options.jobs, get_context("fork")) as pool:
        for record in pool.map(partial(run_record, options=options), remaining):
            known[record.key] = record
            record.print_faults()
            if options.out is not None:
                with options.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(record)) + "\n")
    records = [known[each.key] for each in requested]
    for dtype in options.dtypes:
        _summarise(dtype, [each for each in records if each.dtype == dtype])
    return records


def _summarise(dtype: str, found: Sequence[OperationRecord]) -> None:
    """Print the skipped operations, then counts of operations and of samples."""
    tested = [
        each for each in found if any(each.counts.get(n) for n in COMPUTED + FAULTS)
    ]
    by_reason: dict[str, list[str]] = {}
    for each in found:
        if each not in tested:
            by_reason.setdefault(each.reason, []).append(each.operation)
    for reason, names in by_reason.items():
        print(f"{dtype} skipped, {reason or 'no samples'}: {', '.join(names)}")
    right = [each for each in tested if not each.faults]
    counts: Counter[str] = Counter()
    for each in found:
        counts.update(each.counts)
    parts = [f"{counts[name]} {name}" for name in (*COMPUTED, *FAULTS, "skipped")]
    print(
        f"{dtype}: {len(right)} of {len(tested)} operations right; {', '.join(parts)}"
    )


def parse_arguments(arguments: Sequence[str] | None = None) -> OpInfoOptions:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().split("\n")[0])
    parser.add_argument("--target", default="reference")
    parser.add_argument("--way", choices=WAYS, default="backend")
    parser.add_argument("--dtypes", default="f32", help=f"among {','.join(DTYPES)}")
    parser.add_argument("--only", default="*", help="a glob pattern of names")
    parser.add_argument(
        "--samples", type=int, default=0, help="maximum number; 0 is all"
    )
    parser.add_argument("--seed", type=int, help="seed of a random choice")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--timeout", type=float, default=120, help="seconds per sample")
    parser.add_argument("--out", type=Path, help="file of outcomes")
    options = parser.parse_args(arguments)
    dtypes = tuple(options.dtypes.split(","))
    if unknown := [each for each in dtypes if each not in DTYPES]:
        parser.error(f"expected dtypes among {','.join(DTYPES)}, got {unknown[0]}")
    return OpInfoOptions(
        options.target,
        options.way,
        dtypes,
        options.only,
        SampleChoice(options.samples, options.seed),
        options.jobs,
        options.timeout,
        options.out,
    )


if __name__ == "__main__":
    report_records(parse_arguments())
