"""
Admission of compiled kernels, and the variants that are compiled instead.

A kernel that needs more shared memory than a program may have cannot be launched; one
that spills registers runs at the pace of memory; one with wrong matrix descriptors
computes something else. Whatever launches kernels asks `admit` first.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from tlf.runtime.triton.launch_plan import Kernel
from tlf.runtime.triton.runtime_errors import KernelError

SPILL_LIMIT = 256
"""The most bytes that a thread may spill before other ways to compile are tried."""

MOST_WARPS = 16
"""The most warps that a program is given."""

ATTEMPTS = 6
"""The most ways to compile one kernel that are tried."""

_STAGES = re.compile(r"num_stages=(\d+)")


@dataclass(frozen=True)
class Facts:
    """
    Resources of a compiled kernel: bytes of shared memory per program, bytes that a
    thread spills (unknown where the kernel cannot be loaded), and faults of its matrix
    descriptors.
    """

    shared: int
    spilled: int
    wrong_descriptors: tuple[str, ...] = ()


@dataclass(frozen=True)
class Variant:
    """A way to compile a kernel: its source, warps and stages, and the assembler."""

    kernel: Kernel
    is_newest: bool = False
    """True if the newest assembler compiles it, not the usual one for the chip."""


Compile = Callable[[Variant], Facts]


def admit(kernel: Kernel, compile_variant: Compile, shared_limit: int) -> Variant:
    """
    Return the first way to compile a kernel that nothing speaks against, or else the
    one that spills least. Raises `KernelError` if none of those tried can be launched
    and computes what it should.
    """
    tried: dict[Variant, Facts] = {}
    following: Variant | None = Variant(kernel)
    while following is not None and len(tried) < ATTEMPTS:
        variant = following
        try:
            facts = tried[variant] = compile_variant(variant)
        except Exception:
            if not _legal_variants(tried, shared_limit):
                raise
            break
        following = next_variant(variant, facts, shared_limit)
    legal = _legal_variants(tried, shared_limit)
    if not legal:
        facts = tried[Variant(kernel)]
        raise KernelError(f"kernel '{kernel.name}': {_describe(facts, shared_limit)}")
    return min(legal, key=lambda variant: tried[variant].spilled)


def _legal_variants(tried: Mapping[Variant, Facts], shared_limit: int) -> list[Variant]:
    """The ways to compile a kernel that may run, and compute what they should."""
    return [
        variant
        for variant, facts in tried.items()
        if facts.shared <= shared_limit and not facts.wrong_descriptors
    ]


def next_variant(variant: Variant, facts: Facts, shared_limit: int) -> Variant | None:
    """
    The next way to compile a kernel that may mend what `facts` say, or None where
    nothing speaks against this one, or nothing is left to try.
    """
    kernel = variant.kernel
    if facts.wrong_descriptors and not variant.is_newest:
        return replace(variant, is_newest=True)
    if facts.wrong_descriptors or facts.shared > shared_limit:
        if kernel.num_stages == 1:
            return None
        return replace(variant, kernel=limit_stages(kernel, kernel.num_stages - 1))
    if facts.spilled > SPILL_LIMIT and kernel.num_warps < MOST_WARPS:
        warps = 2 * kernel.num_warps
        return replace(variant, kernel=replace(kernel, num_warps=warps))
    return None


def limit_stages(kernel: Kernel, stages: int) -> Kernel:
    """The kernel with at most `stages` iterations of its loops in flight."""

    def cap_stages(found: re.Match[str]) -> str:
        return f"num_stages={min(int(found[1]), stages)}"

    source = _STAGES.sub(cap_stages, kernel.source)
    digest = hashlib.sha256(source.encode()).hexdigest()
    return replace(kernel, source=source, sha256=digest, num_stages=stages)


def _describe(facts: Facts, shared_limit: int) -> str:
    if facts.shared > shared_limit:
        return f"takes {facts.shared} bytes of shared memory, more than {shared_limit}"
    return f"is assembled wrongly: {facts.wrong_descriptors[0]}"
