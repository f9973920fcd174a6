"""Faults in the text of programs of the NPU."""

from __future__ import annotations

import re

from mutated_programs import (
    CONVOLUTIONS,
    HEADS,
    LINEAR,
    MAXIMUM,
    RESIDUAL,
    SQUARE,
    WEIGHTED,
)
from mutations import Faults, Kind, Stage, replaced

FAULTS = Faults(Stage.TEXT)


def _semaphore(text: str, engine: str, waiting: str) -> str:
    """Return the last semaphore through which `engine` signals the engine `waiting`."""
    signalled = re.findall(rf"^ *signal {engine} (s\d+)$", text, re.MULTILINE)
    awaited = re.findall(rf"^ *wait {waiting} (s\d+)$", text, re.MULTILINE)
    return [each for each in signalled if each in awaited][-1]


def _without(text: str, pattern: str) -> str:
    """Return the text without the lines that match a pattern."""
    lines = [line for line in text.splitlines() if not re.search(pattern, line)]
    return "\n".join(lines) + "\n"


@FAULTS.in_text(LINEAR, Kind.TRAP, "RAW")
def signals_and_waits_of_a_semaphore_left_out(text: str) -> str:
    return _without(text, rf" {_semaphore(text, 'dma_l2_l1', 'matrix')}$")


@FAULTS.in_text(RESIDUAL, Kind.TRAP, "RAW")
def wait_left_out_before_a_use(text: str) -> str:
    name = _semaphore(text, "dma_l2_l1", "vector")
    return _without(text, rf"wait vector {name}$")


@FAULTS.in_text(RESIDUAL, Kind.TRAP, "WAW")
def wait_left_out_before_the_next_tile(text: str) -> str:
    name = _semaphore(text, "dma_l1_l2", "dma_l2_l1")
    return _without(text, rf"(wait|signal) \w+ {name}$")


@FAULTS.in_text(HEADS, Kind.TRAP, "signal")
def signal_left_out(text: str) -> str:
    name = _semaphore(text, "matrix", "dma_l1_l2")
    return _without(text, rf"signal matrix {name}$")


@FAULTS.in_text(HEADS, Kind.TRAP, "signal")
def wait_before_its_signal(text: str) -> str:
    pattern = r"^signal vector (s\d+)\nwait dma_l1_l2 \1$"
    return replaced(text, pattern, r"wait dma_l1_l2 \1\nsignal vector \1")


@FAULTS.in_text(RESIDUAL, Kind.TRAP, "RAW")
def signal_before_the_work(text: str) -> str:
    pattern = r"^( *vector add .*\n)( *signal vector .*\n)"
    return replaced(text, pattern, r"\2\1")


@FAULTS.in_text(SQUARE, Kind.WRONG)
def strides_of_a_factor_swapped(text: str) -> str:
    return replaced(text, r"(matmul .* b=L1\[\d+\])\((\d+), (\d+)\)", r"\1(\3, \2)")


@FAULTS.in_text(HEADS, Kind.WRONG)
def strides_of_a_copy_swapped(text: str) -> str:
    pattern = r"(vector copy .* a=L1\[\d+\])\((\d+), (\d+), (\d+)\)"
    return replaced(text, pattern, r"\1(\3, \2, \4)")


@FAULTS.in_text(HEADS, Kind.TRAP, "was never written")
def stride_of_a_result_too_large(text: str) -> str:
    pattern = r"(vector copy dst=L1\[\d+\])\((\d+), (\d+), (\d+)\)"
    return replaced(text, pattern, r"\1(144, \3, \4)")


@FAULTS.in_text(HEADS, Kind.TRAP, "overlap")
def elements_of_a_result_overlapping(text: str) -> str:
    pattern = r"(vector copy dst=L1\[\d+\])\((\d+), (\d+), (\d+)\)"
    return replaced(text, pattern, r"\1(\2, 24, \4)")


@FAULTS.in_text(HEADS, Kind.TRAP, "was never written")
def base_address_off_by_one_element(text: str) -> str:
    return replaced(text, r"(matmul .* a=L1\[)1408\]", r"\g<1>1412]")


@FAULTS.in_text(HEADS, Kind.WRONG)
def factors_at_each_others_address(text: str) -> str:
    pattern = r"a=L1\[(\d+)\](.*) b=L1\[(\d+)\]"
    return replaced(text, pattern, r"a=L1[\3]\2 b=L1[\1]")


@FAULTS.in_text(LINEAR, Kind.WRONG)
def accumulate_left_out_of_a_product(text: str) -> str:
    return replaced(text, r"^( *matmul .*) accumulate$", r"\1")


@FAULTS.in_text(MAXIMUM, Kind.WRONG)
def accumulate_left_out_of_a_reduction(text: str) -> str:
    return replaced(text, r"^( *reduce .*) accumulate$", r"\1")


@FAULTS.in_text(WEIGHTED, Kind.WRONG)
def reduction_of_another_kind(text: str) -> str:
    return replaced(text, r"reduce sum", "reduce max")


@FAULTS.in_text(WEIGHTED, Kind.WRONG)
def another_operation(text: str) -> str:
    return replaced(text, r"vector mul", "vector add")


@FAULTS.in_text(LINEAR, Kind.REFUSED, "f16")
def one_operand_of_another_type(text: str) -> str:
    return replaced(text, r"(matmul .* a=L1\[\d+\]\([\d, ]*\)):f32", r"\1:f16")


@FAULTS.in_text(WEIGHTED, Kind.TRAP, "was never written")
def move_of_a_narrower_type(text: str) -> str:
    return replaced(text, r"^(dma dma_l3_l2 .* type=)f32", r"\1bf16")


@FAULTS.in_text(RESIDUAL, Kind.WRONG)
def result_rounded_to_a_narrower_type(text: str) -> str:
    pattern = r"( *)vector add (dst=(L1\[\d+\])\(\d+\)):f32 .* shape=(\(\d+\))\n"
    rounded = r"\g<0>\1vector copy dst=L1[4096](2):bf16 a=\3(4):f32 shape=\4"
    back = r"\n\1vector copy dst=\3(4):f32 a=L1[4096](2):bf16 shape=\4\n"
    return replaced(text, pattern, rounded + back)


INSIDE = r"inside=\((0:4, %r_\d+:%r_\d+), 2:11\)"
"""Pattern of the in-bounds range of a DMA from a zero-padded image."""


@FAULTS.in_text(CONVOLUTIONS, Kind.WRONG)
def range_inside_the_source_too_small(text: str) -> str:
    return replaced(text, INSIDE, r"inside=(\1, 2:10)")


@FAULTS.in_text(CONVOLUTIONS, Kind.TRAP, "L2[-")
def range_inside_the_source_too_large(text: str) -> str:
    return replaced(text, INSIDE, r"inside=(\1, 0:11)")


@FAULTS.in_text(CONVOLUTIONS, Kind.WRONG)
def fill_of_the_border_wrong(text: str) -> str:
    return replaced(text, f"({INSIDE} fill)=0.0", r"\1=1.0")


@FAULTS.in_text(LINEAR, Kind.TRAP, "L2")
def operand_outside_of_the_engines_level(text: str) -> str:
    return replaced(text, r"(matmul .* a=)L1", r"\1L2")


@FAULTS.in_text(LINEAR, Kind.TRAP, "not multiples of the element size")
def misaligned_address(text: str) -> str:
    return replaced(text, r"(dma dma_l2_l1 dst=L1)\[\d+\]", r"\1[2]")


@FAULTS.in_text(LINEAR, Kind.TRAP, "was never written")
def bound_of_a_loop_too_small(text: str) -> str:
    return replaced(text, r"to 21 step", "to 20 step")


@FAULTS.in_text(LINEAR, Kind.WRONG)
def bound_of_a_reduction_too_small(text: str) -> str:
    return replaced(text, r"to 37 step", "to 32 step")


@FAULTS.in_text(LINEAR, Kind.WRONG)
def step_of_a_reduction_too_small(text: str) -> str:
    return replaced(text, r"to 37 step 16", "to 37 step 12")


@FAULTS.in_text(LINEAR, Kind.WRONG)
def depth_of_a_product_too_small(text: str) -> str:
    return replaced(text, r"k=\(16\)", "k=(15)")


@FAULTS.in_text(RESIDUAL, Kind.TRAP, "was never written")
def shape_of_a_vector_too_small(text: str) -> str:
    return replaced(text, r"(vector exp .* shape=)\(128\)", r"\1(127)")


@FAULTS.in_text(MAXIMUM, Kind.WRONG)
def neutral_element_wrong(text: str) -> str:
    return replaced(text, r"a=#-inf", "a=#0.0")


@FAULTS.in_text(RESIDUAL, Kind.TRAP, "was never written")
def output_elsewhere(text: str) -> str:
    return replaced(text, r"(dma dma_l2_l3 dst=L3\[)\d+\]", r"\g<1>6656]")


@FAULTS.in_text(HEADS, Kind.REFUSED, "dma_l2_l1")
def move_on_the_wrong_engine(text: str) -> str:
    return replaced(text, r"dma dma_l3_l2", "dma dma_l2_l1")


@FAULTS.in_text(HEADS, Kind.WRONG)
def inputs_exchanged_in_memory(text: str) -> str:
    pattern = r"^dma dma_l3_l2 dst=L2\[2112\]\(4\) src=L3\[768\]"
    return replaced(text, pattern, "dma dma_l3_l2 dst=L2[2112](4) src=L3[0]")
