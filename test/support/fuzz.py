"""
Compile random programs for all targets and compare the results.

    python test/support/fuzz.py --seeds 0:100 --targets npu,npu-tiny,h200
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from differential import Fault, check, make_case
from graph_program import Program
from random_programs import random_program


def fault_of(program: Program, target: str, stages: bool) -> Fault | None:
    """What goes wrong with a program on a target."""
    return check(make_case(program.text()), target, stages)


def same(left: Fault, right: Fault | None) -> bool:
    """Whether two faults look like one."""
    if right is None or left.kind != right.kind:
        return False
    if left.kind == "wrong":
        return left.step == right.step
    return _words(left.message) == _words(right.message)


def _words(message: str) -> list[str]:
    """The words of a message that are not about one program."""
    return [word for word in message.split() if word.isalpha()]


def reduced(program: Program, target: str, fault: Fault, stages: bool) -> Program:
    """A small program with the same fault."""
    for smaller in program.smaller():
        if same(fault, fault_of(smaller, target, stages)):
            return reduced(smaller, target, fault, stages)
    return program


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0:20", help="FIRST:LAST")
    parser.add_argument("--targets", default="npu-tiny,npu,h200")
    parser.add_argument("--steps", type=int, default=6, help="operations a program")
    parser.add_argument("--largest", type=int, default=2000, help="elements a tensor")
    parser.add_argument("--seconds", type=float, default=1e9, help="when to stop")
    parser.add_argument("--fast", action="store_true", help="only the final results")
    parser.add_argument("--folder", type=Path, help="for small programs with faults")
    options = parser.parse_args(arguments)
    first, last = map(int, options.seeds.split(":"))
    counts = Counter[str]()
    known: dict[str, int] = {}
    end = time.monotonic() + options.seconds
    for seed in range(first, last):
        if time.monotonic() > end:
            break
        program = random_program(seed, options.steps, options.largest)
        for target in options.targets.split(","):
            fault = fault_of(program, target, not options.fast)
            counts[f"{target} {fault.kind if fault else 'right'}"] += 1
            if fault is None:
                continue
            key = " ".join([target, fault.kind, *_words(fault.message)])
            if fault.kind == "wrong":
                key = f"{target} wrong {fault.step}"
            known[key] = known.get(key, 0) + 1
            if known[key] > 3:
                continue
            small = reduced(program, target, fault, not options.fast)
            found = fault_of(small, target, not options.fast)
            print(f"seed {seed} on {target}: {fault}", flush=True)
            if options.folder is not None:
                name = f"{Path(target).stem}-{fault.kind}-{seed}.mlir"
                (options.folder / name).write_text(
                    f"// {target}: {found}\n{small.text()}"
                )
            else:
                print(small.text(), flush=True)
    for key, count in sorted(counts.items()):
        print(f"{key}: {count}")
    for key, count in sorted(known.items(), key=lambda item: -item[1]):
        print(f"{count:4} {key}")


if __name__ == "__main__":
    main(sys.argv[1:])
