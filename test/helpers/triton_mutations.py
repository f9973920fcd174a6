"""Faults in the source of Triton kernels, and in their launch plan."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from functools import wraps

from mutated_programs import (
    TRITON_LINEAR,
    TRITON_MAXIMUM,
    TRITON_RESIDUAL,
    TRITON_WEIGHTED,
)
from mutations import Faults, Kind, Program, Stage, replaced

FAULTS = Faults(Stage.TEXT)


def _in_kernel(
    program: Program, kind: Kind, says: str = ""
) -> Callable[[Callable[[str], str]], Callable[[str], str]]:
    """Return a decorator of functions that change the source of the only kernel."""

    def plant(change: Callable[[str], str]) -> Callable[[str], str]:
        @wraps(change)
        def changed(text: str) -> str:
            plan = json.loads(text.partition("# plan\n")[2])
            (kernel,) = plan["kernels"]
            kernel["source"] = change(kernel["source"])
            digest = hashlib.sha256(kernel["source"].encode())
            kernel["sha256"] = digest.hexdigest()
            return json.dumps(plan)

        return FAULTS.in_text(program, kind, says)(changed)

    return plant


STORE = r"(tl\.store\(.*), mask="
"""Pattern of a store up to its mask."""


@_in_kernel(TRITON_LINEAR, Kind.TRAP, "store")
def mask_of_a_store_left_out(source: str) -> str:
    return replaced(source, STORE + r".*\)$", r"\1)")


@_in_kernel(TRITON_LINEAR, Kind.TRAP, "another program stores")
def mask_of_a_store_one_column_too_wide(source: str) -> str:
    return replaced(source, STORE + r"(.*) < 19\)", r"\1, mask=\2 < 20)")


@_in_kernel(TRITON_LINEAR, Kind.TRAP, "load out of bounds")
def mask_of_a_load_left_out(source: str) -> str:
    pattern = r"(tl\.load\(p1.*), mask=.*\)(  # %w)$"
    return replaced(source, pattern, r"\1)\2")


@_in_kernel(TRITON_LINEAR, Kind.WRONG)
def mask_of_a_load_too_narrow(source: str) -> str:
    return replaced(source, r"(r1 < )37", r"\g<1>36")


@_in_kernel(TRITON_MAXIMUM, Kind.WRONG)
def fill_of_a_mask_zero_instead_of_minus_infinity(source: str) -> str:
    return replaced(source, r'(tl\.where\(.*)float\("-inf"\)', r"\g<1>0.0", -1)


@_in_kernel(TRITON_LINEAR, Kind.WRONG)
def fill_of_loads_one(source: str) -> str:
    return re.sub(r"(tl\.load\(p[01].*)other=0\.0", r"\1other=1.0", source)


@_in_kernel(TRITON_LINEAR, Kind.WRONG)
def fill_of_a_load_left_out(source: str) -> str:
    return replaced(source, r"(tl\.load\(p0.*), other=0\.0", r"\1")


@_in_kernel(TRITON_LINEAR, Kind.WRONG)
def step_of_a_reduction_too_large(source: str) -> str:
    return replaced(source, r"tl\.range\(0, 37, 16\)", "tl.range(0, 37, 32)")


@_in_kernel(TRITON_LINEAR, Kind.WRONG)
def accumulator_left_out(source: str) -> str:
    return replaced(source, r"acc=c0, ", "")


@_in_kernel(TRITON_WEIGHTED, Kind.WRONG)
def accumulator_not_carried(source: str) -> str:
    return replaced(source, r"^ +c0 = v\d+\n", "", -1)


@_in_kernel(TRITON_LINEAR, Kind.WRONG)
def stride_of_a_load_wrong(source: str) -> str:
    return replaced(source, r"(tl\.load\(p0.*) \* 37", r"\1 * 36")


@_in_kernel(TRITON_LINEAR, Kind.TRAP, "another program stores")
def two_programs_on_one_tile(source: str) -> str:
    return replaced(source, r"pid0 // 2", "pid0 // 4")


@_in_kernel(TRITON_RESIDUAL, Kind.WRONG)
def result_stored_before_it_is_complete(source: str) -> str:
    return replaced(source, r"(tl\.store\(.*), v\d+,", r"\1, v0,")


@FAULTS.in_text(TRITON_LINEAR, Kind.REFUSED, "sha256")
def source_changed_behind_the_plan(text: str) -> str:
    return text.replace("range(0, 37, 16)", "range(0, 37, 32)")


@FAULTS.in_text(TRITON_LINEAR, Kind.TRAP, "load out of bounds")
def arguments_of_a_launch_swapped(text: str) -> str:
    plan = json.loads(text.partition("# plan\n")[2])
    arguments = plan["steps"][0]["arguments"]
    arguments[0], arguments[1] = arguments[1], arguments[0]
    return json.dumps(plan)
