"""
Launch of Triton kernels: check of matrix descriptors in the SASS of compiled kernels.

A matrix product on Hopper (`wgmma` in PTX, `HGMMA` in SASS) addresses each factor in
shared memory by a descriptor of 64 bits: the address in units of 16 bytes in the lower
14 bits, constants in the upper word (PTX ISA, "Matrix Descriptor Format"). `ptxas` 12.8
loses the address if two products of one kernel read factors at one address with
different constants: it adds to an unrelated register.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from tlf.runtime.triton.ptxas_selection import disassemble

ADDRESS_MASK = 0x3FFF
"""Bits of a descriptor with the address."""

ADDRESS_BITS = 14

_INSTRUCTION = re.compile(
    r"/\*[0-9a-f]{4,}\*/\s+(?P<predicate>@!?U?P\w+\s+)?"
    r"(?P<code>[A-Z][\w.]*)\s*(?P<operands>[^;]*);"
)

_LABEL = re.compile(r"^\s*\.(?P<label>L_\w+):")

_TARGET = re.compile(r"`\(\.(?P<label>L_\w+)\)")

_DESCRIPTOR = re.compile(r"gdesc\[UR(?P<number>\d+)\]")

_REGISTER = re.compile(r"^U?R(?P<number>\d+)$")

_ENDS = ("EXIT", "BRA", "RET", "JMP", "BRX")


class RegisterKind(Enum):
    """Abstract value of a SASS register in the check of matrix descriptors."""

    CONSTANT = auto()
    ADDRESS = auto()
    """Bits masked to those of an address, plus a constant."""
    OTHER = auto()
    """Result of any other computation, or undefined."""
    UNKNOWN = auto()
    """
    Value that depends on other registers, or differs between paths; it is not checked.
    """


State = Mapping[str, RegisterKind]
"""Abstract values by register, of registers that were set."""


@dataclass(frozen=True)
class SassInstruction:
    """One SASS instruction: its operation with modifiers, and its operands."""

    code: str
    operands: tuple[str, ...]
    is_predicated: bool = False
    """True if its execution is conditional."""

    @property
    def operation(self) -> str:
        """Operation without modifiers."""
        return self.code.partition(".")[0]


@dataclass(frozen=True)
class BasicBlock:
    """Straight-line instructions, and the indices of successor blocks."""

    instructions: tuple[SassInstruction, ...]
    successors: tuple[int, ...]


def find_wrong_descriptors(sass: str) -> list[str]:
    """
    Return a sentence for each matrix product with an invalid descriptor: its lower word
    is not a masked address, or its upper word is not constant. `sass` is the output of
    `nvdisasm -c` for one kernel.
    """
    blocks = parse_basic_blocks(sass)
    faults: dict[str, None] = {}
    for block, state in zip(blocks, _propagate_register_states(blocks), strict=True):
        registers = dict(state)
        for instruction in block.instructions:
            faults.update(
                dict.fromkeys(_find_descriptor_faults(instruction, registers))
            )
            _update_register_kinds(instruction, registers)
    return list(faults)


def find_descriptor_faults_of_kernel(compiled: Any) -> tuple[str, ...]:
    """
    Return the faults of the descriptors of a kernel compiled by Triton. Kernels with
    fewer than two asynchronous products are not checked.
    """
    if str(compiled.asm["ttgir"]).count("warp_group_dot ") < 2:
        return ()
    return tuple(find_wrong_descriptors(disassemble(compiled.asm["cubin"])))


def parse_basic_blocks(sass: str) -> list[BasicBlock]:
    """Return the basic blocks of a kernel, in the order of its text."""
    bodies: list[list[SassInstruction]] = [[]]
    labels: dict[str, int] = {}
    for line in sass.splitlines():
        if match := _LABEL.match(line):
            if bodies[-1]:
                bodies.append([])
            labels[match["label"]] = len(bodies) - 1
        elif match := _INSTRUCTION.search(line):
            operands = (each.strip() for each in match["operands"].split(","))
            is_predicated = match["predicate"] is not None
            bodies[-1].append(
                SassInstruction(match["code"], tuple(operands), is_predicated)
            )
            if bodies[-1][-1].operation in _ENDS:
                bodies.append([])
    return [
        BasicBlock(
            tuple(body), tuple(_successors_of_block(index, body, labels, len(bodies)))
        )
        for index, body in enumerate(bodies)
    ]


def _successors_of_block(
    block_index: int,
    instructions: Sequence[SassInstruction],
    labels: Mapping[str, int],
    block_count: int,
) -> Iterator[int]:
    """
    Yield the index of the next block, even after an unconditional branch, and of the
    branch target.
    """
    if block_index + 1 < block_count:
        yield block_index + 1
    if instructions and (found := _TARGET.search(", ".join(instructions[-1].operands))):
        if (target := labels.get(found["label"])) is not None:
            yield target


def _propagate_register_states(blocks: Sequence[BasicBlock]) -> list[State]:
    """
    Return the abstract values of registers at the start of each block, as a fixed point
    over all paths.
    """
    states: list[State | None] = [None] * len(blocks)
    states[0] = {}
    worklist = [0]
    while worklist:
        index = worklist.pop()
        registers = dict(states[index] or {})
        for instruction in blocks[index].instructions:
            _update_register_kinds(instruction, registers)
        for successor in blocks[index].successors:
            before = states[successor]
            after = (
                registers
                if before is None
                else _join_register_states(before, registers)
            )
            if after != before:
                states[successor] = dict(after)
                worklist.append(successor)
    return [state or {} for state in states]


def _join_register_states(left: State, right: State) -> State:
    """
    Return the join of two states, at the join of two paths or after a predicated
    instruction.
    """
    return {
        register: kind if right.get(register) is kind else RegisterKind.UNKNOWN
        for register, kind in {**right, **left}.items()
    }


def _find_descriptor_faults(
    instruction: SassInstruction, register_kinds: State
) -> Iterator[str]:
    """Yield sentences on invalid descriptor registers, if this is a matrix product."""
    if "GMMA" not in instruction.operation:
        return
    for position, operand in enumerate(instruction.operands):
        if (found := _DESCRIPTOR.search(operand)) is None:
            continue
        first = int(found["number"])
        # The left factor may be in registers, before the descriptor of the right one.
        for low in (first, first + 2) if position == 1 else (first + 2,):
            if _kind_of_source(f"UR{low}", register_kinds) is RegisterKind.OTHER:
                yield f"the address in UR{low} of {instruction.code} is no masked one"
            if _kind_of_source(f"UR{low + 1}", register_kinds) in (
                RegisterKind.OTHER,
                RegisterKind.ADDRESS,
            ):
                yield f"the upper word in UR{low + 1} of {instruction.code} varies"


def _update_register_kinds(
    instruction: SassInstruction, register_kinds: dict[str, RegisterKind]
) -> None:
    """Update the abstract values of the registers that an instruction writes."""
    operands = instruction.operands
    if not operands or (found := _REGISTER.match(operands[0].split(".")[0])) is None:
        return
    if instruction.operation.startswith(("ST", "RED", "BAR", "HGMMA")):
        return
    name = operands[0].split(".")[0]
    file, number = name.rstrip("0123456789"), int(found["number"])
    sources = [each.split(".")[0] for each in operands[1:]]
    if instruction.code == "UIADD3.64":
        parts = [
            _kind_of_source(_register_of_pair(sources[0], part), register_kinds)
            for part in (0, 1)
        ]
    else:
        is_wide = ".64" in instruction.code or ".WIDE" in instruction.code
        count = 4 if ".128" in instruction.code else 2 if is_wide else 1
        parts = [
            _kind_of_result(instruction, sources, register_kinds),
            *[RegisterKind.OTHER] * (count - 1),
        ]
    written = {f"{file}{number + part}": kind for part, kind in enumerate(parts)}
    if instruction.is_predicated:
        before = {
            each: register_kinds[each] for each in written if each in register_kinds
        }
        written = dict(_join_register_states(before, written))
    register_kinds.update(written)


def _kind_of_result(
    instruction: SassInstruction, sources: Sequence[str], register_kinds: State
) -> RegisterKind:
    """Return the abstract value that a SASS instruction computes from its sources."""
    operation = instruction.operation
    values = [each for each in sources if _REGISTER.match(each) or _is_number(each)]
    if operation in ("R2UR", "S2UR", "S2R"):
        return RegisterKind.UNKNOWN
    if operation in ("UMOV", "MOV"):
        return (
            _kind_of_source(values[0], register_kinds) if values else RegisterKind.OTHER
        )
    if operation in ("ULOP3", "LOP3") and any(map(_is_address_mask, values[:3])):
        return RegisterKind.ADDRESS
    if operation in ("USGXT", "SGXT") and _parse_number(values[-1]) == ADDRESS_BITS:
        return RegisterKind.ADDRESS
    if operation in ("UIADD3", "IADD3", "VIADD", "ULOP3", "LOP3"):
        return _kind_of_sum(
            _kind_of_source(each, register_kinds) for each in values[:3]
        )
    return RegisterKind.OTHER


def _kind_of_sum(terms: Iterable[RegisterKind]) -> RegisterKind:
    """Return the abstract value of a sum or a bitwise or."""
    kinds = set(terms)
    if RegisterKind.UNKNOWN in kinds:
        return RegisterKind.UNKNOWN
    kinds -= {RegisterKind.CONSTANT}
    if not kinds:
        return RegisterKind.CONSTANT
    return (
        RegisterKind.ADDRESS if kinds == {RegisterKind.ADDRESS} else RegisterKind.OTHER
    )


def _kind_of_source(source: str, register_kinds: State) -> RegisterKind:
    if not _REGISTER.match(source):
        return RegisterKind.CONSTANT
    return register_kinds.get(source, RegisterKind.OTHER)


def _register_of_pair(register: str, part_index: int) -> str:
    """Return the register with a part of a register pair."""
    if (found := _REGISTER.match(register)) is None:
        return register
    return f"{register.rstrip('0123456789')}{int(found['number']) + part_index}"


def _is_number(text: str) -> bool:
    return text in ("URZ", "RZ") or _parse_number(text) is not None


def _parse_number(text: str) -> int | None:
    """Return an integer in decimal or prefixed notation, or `None`."""
    try:
        return int(text, 0)
    except ValueError:
        return None


def _is_address_mask(text: str) -> bool:
    number = _parse_number(text)
    return number is not None and 0 < number <= ADDRESS_MASK
