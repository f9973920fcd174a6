"""
Launch of Triton kernels: admission of compiled kernels, or variants instead.

A kernel that exceeds the limit of shared memory cannot be launched; one that spills
registers is bound by memory; one with wrong matrix descriptors computes wrong results.
Launchers call `admit_kernel_variant` first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from tlf.runtime.triton.launch_plan import Kernel
from tlf.runtime.triton.runtime_errors import KernelError

SPILL_LIMIT = 256
"""Maximum bytes that a thread may spill before other variants are compiled."""

MOST_WARPS = 16
"""Maximum number of warps per program."""

ATTEMPTS = 6
"""Maximum number of variants compiled for one kernel."""

_STAGES = re.compile(r"num_stages=(\d+)")


@dataclass(frozen=True)
class KernelFacts:
    """
    Resources of a compiled kernel: bytes of shared memory per program, bytes that a
    thread spills (unknown if the kernel cannot be loaded), and faults of its matrix
    descriptors.
    """

    shared: int
    spilled: int
    wrong_descriptors: tuple[str, ...] = ()


@dataclass(frozen=True)
class KernelVariant:
    """Variant of a kernel: its source, warps and stages, and the assembler."""

    kernel: Kernel
    is_newest: bool = False
    """True for the newest assembler, false for the default one of the chip."""


Compile = Callable[[KernelVariant], KernelFacts]


def admit_kernel_variant(
    kernel: Kernel, compile_variant: Compile, shared_limit: int
) -> KernelVariant:
    """
    Return the first variant of a kernel without objections, or else the variant with
    the fewest spills. Raises `KernelError` if no compiled variant can be launched and
    is correct.
    """
    results: dict[KernelVariant, KernelFacts] = {}
    candidate: KernelVariant | None = KernelVariant(kernel)
    while candidate is not None and len(results) < ATTEMPTS:
        variant = candidate
        try:
            facts = results[variant] = compile_variant(variant)
        except Exception:
            if not _legal_variants(results, shared_limit):
                raise
            break
        candidate = next_variant(variant, facts, shared_limit)
    legal = _legal_variants(results, shared_limit)
    if not legal:
        facts = results[KernelVariant(kernel)]
        raise KernelError(
            f"kernel '{kernel.name}': {_describe_problems(facts, shared_limit)}"
        )
    return min(legal, key=lambda variant: results[variant].spilled)


def _legal_variants(
    facts_by_variant: Mapping[KernelVariant, KernelFacts], shared_limit: int
) -> list[KernelVariant]:
    """
    Return the variants with at most `shared_limit` shared bytes and no wrong
    descriptors, in order.
    """
    return [
        variant
        for variant, facts in facts_by_variant.items()
        if facts.shared <= shared_limit and not facts.wrong_descriptors
    ]


def next_variant(
    variant: KernelVariant, facts: KernelFacts, shared_limit: int
) -> KernelVariant | None:
    """
    Return the next variant that may fix the problems in `facts`, or `None` if there are
    no problems or no variants remain.
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
    """Return the kernel with at most `stages` iterations of its loops in flight."""

    def cap_stages(found: re.Match[str]) -> str:
        return f"num_stages={min(int(found[1]), stages)}"

    capped = kernel.with_source(_STAGES.sub(cap_stages, kernel.source))
    return replace(capped, num_stages=stages)


def _describe_problems(facts: KernelFacts, shared_limit: int) -> str:
    if facts.shared > shared_limit:
        return f"takes {facts.shared} bytes of shared memory, more than {shared_limit}"
    return f"is assembled wrongly: {facts.wrong_descriptors[0]}"
