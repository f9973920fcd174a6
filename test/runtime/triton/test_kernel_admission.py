"""Kernels are compiled in other ways until nothing speaks against one."""

import hashlib
from collections.abc import Callable
from dataclasses import replace

import pytest

from tlf.runtime.triton.kernel_admission import (
    KernelFacts,
    KernelVariant,
    admit_kernel_variant,
    limit_stages,
)
from tlf.runtime.triton.launch_plan import Kernel
from tlf.runtime.triton.runtime_errors import KernelError

SOURCE = "for k in tl.range(0, n, 64, num_stages=4):\nfor j in tl.range(0, m, 2):\n"

KERNEL = Kernel("f", "", SOURCE, (3,), 4, 4, ("p0",))

LIMIT = 1000


def asked(
    facts: Callable[[KernelVariant], KernelFacts],
) -> tuple[list[KernelVariant], KernelVariant]:
    """The ways in which the kernel was compiled, and the one that was taken."""
    tried: list[KernelVariant] = []

    def compile_one(variant: KernelVariant) -> KernelFacts:
        tried.append(variant)
        return facts(variant)

    return tried, admit_kernel_variant(KERNEL, compile_one, LIMIT)


def test_a_kernel_without_faults_is_compiled_once() -> None:
    tried, taken = asked(lambda _: KernelFacts(1000, 256))
    assert tried == [taken] == [KernelVariant(KERNEL)]


def test_less_is_in_flight_where_shared_memory_is_short() -> None:
    tried, taken = asked(lambda each: KernelFacts(400 * each.kernel.num_stages, 0))
    assert [each.kernel.num_stages for each in tried] == [4, 3, 2]
    assert taken.kernel.num_stages == 2
    assert taken.kernel.source == SOURCE.replace("=4", "=2")
    assert (
        taken.kernel.sha256 == hashlib.sha256(taken.kernel.source.encode()).hexdigest()
    )


def test_more_warps_share_what_spills() -> None:
    tried, taken = asked(lambda each: KernelFacts(0, 2000 // each.kernel.num_warps))
    assert [each.kernel.num_warps for each in tried] == [4, 8]
    assert taken.kernel.num_warps == 8


def test_the_least_spills_are_taken() -> None:
    tried, taken = asked(
        lambda each: KernelFacts(0, abs(each.kernel.num_warps - 8) + 300)
    )
    assert [each.kernel.num_warps for each in tried] == [4, 8, 16]
    assert taken.kernel.num_warps == 8


def test_wrong_code_is_assembled_anew() -> None:
    tried, taken = asked(
        lambda each: KernelFacts(0, 0, () if each.is_newest else ("UR4",))
    )
    assert tried == [KernelVariant(KERNEL), KernelVariant(KERNEL, is_newest=True)]
    assert taken.is_newest


def test_wrong_code_is_never_taken() -> None:
    with pytest.raises(KernelError, match="kernel 'f': is assembled wrongly: UR4"):
        asked(lambda _: KernelFacts(0, 0, ("UR4",)))


def test_what_cannot_be_launched_is_refused() -> None:
    with pytest.raises(KernelError, match="takes 2000 bytes of shared memory, more"):
        asked(lambda _: KernelFacts(2000, 0))


def test_loops_with_fewer_stages_keep_them() -> None:
    source = "num_stages=2 num_stages=5"
    kernel = limit_stages(Kernel("f", "", source, (1,), 4, 5, ()), 3)
    assert kernel.source == "num_stages=2 num_stages=3"


def test_what_is_legal_is_taken_where_others_do_not_compile() -> None:
    def facts(variant: KernelVariant) -> KernelFacts:
        if variant.kernel.num_warps > 4:
            raise RuntimeError("no such layout")
        return KernelFacts(1000, 300)

    tried, taken = asked(facts)
    assert [each.kernel.num_warps for each in tried] == [4, 8]
    assert taken == KernelVariant(KERNEL)
    with pytest.raises(RuntimeError, match="no such layout"):
        admit_kernel_variant(
            KERNEL, lambda _: facts(KernelVariant(replace(KERNEL, num_warps=8))), LIMIT
        )
