"""Number of calls of Python functions in a pass, which is its effort without noise."""

from __future__ import annotations

import sys

from tlf.compiler.driver.driver import PASSES, new_context, parse_module
from tlf.compiler.driver.pipeline import build_passes
from tlf.compiler.driver.source import Source
from tlf.dialects.target import load_target_spec
from tlf.lowering.pipelines import PIPELINES


def count_calls(text: str, passes: str) -> int:
    """Return how many functions the last one of some passes calls, on an NPU."""
    context = new_context()
    module = parse_module(context, Source(text, "program.mlir"))
    load_target_spec("npu").attach_to_module(module)
    *before, last = build_passes(passes, PASSES, PIPELINES)
    for each in before:
        each.apply(context, module)
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        last.apply(context, module)
    finally:
        sys.setprofile(None)
    return calls
