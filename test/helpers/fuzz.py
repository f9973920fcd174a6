"""
Compile random programs for all targets and compare the results.

    python test/helpers/fuzz.py --seeds 0:100 --targets npu,npu-tiny,h200 --plans
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from differential import Fault, check, make_case
from graph_program import Program
from random_chains import random_chain
from random_programs import random_program
from random_weights import random_weighted

SHOWN = 3
"""Number of similar faults that are reduced and printed."""


class Options(argparse.Namespace):
    """Command-line options."""

    seeds: str
    targets: str
    steps: int
    largest: int
    seconds: float
    fast: bool
    plans: bool
    chains: bool
    weights: bool
    folder: Path | None


def _words(message: str) -> list[str]:
    """Return the words of a message that do not depend on the program."""
    return [word for word in message.split() if word.isalpha()]


def _kind(fault: Fault) -> str:
    """Return the kind of a fault, common to similar faults."""
    if fault.kind == "wrong":
        return f"wrong {fault.step}"
    return " ".join([fault.kind, *_words(fault.message)])


@dataclass
class Fuzzer:
    """Runner of programs that counts outcomes and faults."""

    options: Options
    counts: Counter[str] = field(default_factory=Counter[str])
    faults: Counter[str] = field(default_factory=Counter[str])

    def attempt(self, seed: int) -> None:
        """Check the program of a seed on all targets."""
        make = random_chain if self.options.chains else random_program
        make = random_weighted if self.options.weights else make
        program = make(seed, self.options.steps, self.options.largest)
        for target in self.options.targets.split(","):
            fault = self.fault(program, target, seed)
            self.counts[f"{target} {fault.kind if fault else 'right'}"] += 1
            if fault is None:
                continue
            key = f"{target} {_kind(fault)}"
            self.faults[key] += 1
            if self.faults[key] <= SHOWN:
                self._show(program, target, seed, fault)

    def fault(self, program: Program, target: str, seed: int) -> Fault | None:
        """Return the fault of a program on a target, or `None` if there is none."""
        plans = seed if self.options.plans else None
        return check(make_case(program.text()), target, not self.options.fast, plans)

    def reduced(
        self, program: Program, target: str, seed: int, fault: Fault
    ) -> Program:
        """Return a small program with a similar fault."""
        for smaller in program.smaller():
            reproduced = self.fault(smaller, target, seed)
            if reproduced is not None and _kind(reproduced) == _kind(fault):
                return self.reduced(smaller, target, seed, fault)
        return program

    def _show(self, program: Program, target: str, seed: int, fault: Fault) -> None:
        small = self.reduced(program, target, seed, fault)
        reproduced = self.fault(small, target, seed)
        planned = f", plans of seed {seed}" if self.options.plans else ""
        text = f"// {target}{planned}: {reproduced}\n{small.text()}"
        print(f"seed {seed} on {target}: {fault}", flush=True)
        if self.options.folder is None:
            print(text, flush=True)
            return
        self.options.folder.mkdir(parents=True, exist_ok=True)
        name = f"{Path(target).stem}-{fault.kind}-{seed}.mlir"
        (self.options.folder / name).write_text(text, encoding="utf-8")

    def report(self) -> str:
        """Return the number of programs by outcome, and the most frequent faults."""
        lines = [f"{key}: {count}" for key, count in sorted(self.counts.items())]
        lines += [f"{count:4} {key}" for key, count in self.faults.most_common()]
        return "\n".join(lines)


def parse_arguments(arguments: Sequence[str] | None) -> Options:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0:20", help="FIRST:LAST")
    parser.add_argument("--targets", default="npu-tiny,npu,h200")
    parser.add_argument("--steps", type=int, default=6, help="operations per program")
    parser.add_argument("--largest", type=int, default=2000, help="elements per tensor")
    parser.add_argument("--seconds", type=float, default=1e9, help="time limit")
    parser.add_argument("--fast", action="store_true", help="only the final results")
    parser.add_argument("--plans", action="store_true", help="with random plans")
    parser.add_argument("--chains", action="store_true", help="mostly of movements")
    parser.add_argument("--weights", action="store_true", help="mostly of weights")
    parser.add_argument("--folder", type=Path, help="output of reduced programs")
    return parser.parse_args(arguments, namespace=Options())


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    options = parse_arguments(arguments)
    fuzzer = Fuzzer(options)
    first, last = map(int, options.seeds.split(":"))
    end = time.monotonic() + options.seconds
    for seed in range(first, last):
        if time.monotonic() > end:
            break
        fuzzer.attempt(seed)
    print(fuzzer.report())


if __name__ == "__main__":
    main(sys.argv[1:])
