"""
Check the matrix descriptors in the machine code of a kernel.

A product of matrices on Hopper (`wgmma` in PTX, `HGMMA` in SASS) finds each factor in
shared memory by a descriptor of 64 bits: the address in units of 16 bytes in the lower
14 bits, constants in the upper word (PTX ISA, "Matrix Descriptor Format"). `ptxas` 12.8
loses the address where two products of one kernel read factors at one address with
other constants: it adds to a register that has nothing to do with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from tlf.runtime.triton.assembler import disassemble

ADDRESS_MASK = 0x3FFF
"""The bits of a descriptor that hold the address."""

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


class Kind(Enum):
    """Abstract value of a register."""

    CONSTANT = auto()
    ADDRESS = auto()
    """Bits that were masked to those of an address, and a constant added to it."""
    OTHER = auto()
    """Result of any other computation, or undefined."""
    UNKNOWN = auto()
    """
    Value that depends on other registers, or differs between paths: it is not judged.
    """


State = Mapping[str, Kind]
"""By register, of those that were set."""


@dataclass(frozen=True)
class Instruction:
    """One instruction of SASS: its operation with modifiers, and its operands."""

    code: str
    operands: tuple[str, ...]
    is_predicated: bool = False
    """True if its execution is conditional."""

    @property
    def operation(self) -> str:
        """The operation without modifiers."""
        return self.code.partition(".")[0]


@dataclass(frozen=True)
class Block:
    """Instructions without a branch among them, and the blocks that may follow."""

    instructions: tuple[Instruction, ...]
    successors: tuple[int, ...]


def find_wrong_descriptors(sass: str) -> list[str]:
    """
    Return a sentence for each matrix product whose descriptor cannot be one: its lower
    word is no masked address, or its upper word no constant. `sass` is what
    `nvdisasm -c` prints of one kernel.
    """
    blocks = read_blocks(sass)
    found: dict[str, None] = {}
    for block, state in zip(blocks, _flow(blocks), strict=True):
        held = dict(state)
        for instruction in block.instructions:
            found.update(dict.fromkeys(_objections(instruction, held)))
            _step(instruction, held)
    return list(found)


def find_wrong_products(compiled: Any) -> tuple[str, ...]:
    """
    Return the faults of the descriptors of a kernel that Triton compiled. A kernel with
    fewer than two asynchronous products is not checked.
    """
    if str(compiled.asm["ttgir"]).count("warp_group_dot ") < 2:
        return ()
    return tuple(find_wrong_descriptors(disassemble(compiled.asm["cubin"])))


def read_blocks(sass: str) -> list[Block]:
    """The basic blocks of a kernel, in the order of its text."""
    bodies: list[list[Instruction]] = [[]]
    labels: dict[str, int] = {}
    for line in sass.splitlines():
        if found := _LABEL.match(line):
            if bodies[-1]:
                bodies.append([])
            labels[found["label"]] = len(bodies) - 1
        elif found := _INSTRUCTION.search(line):
            operands = (each.strip() for each in found["operands"].split(","))
            is_predicated = found["predicate"] is not None
            bodies[-1].append(
                Instruction(found["code"], tuple(operands), is_predicated)
            )
            if bodies[-1][-1].operation in _ENDS:
                bodies.append([])
    return [
        Block(tuple(body), tuple(_successors(number, body, labels, len(bodies))))
        for number, body in enumerate(bodies)
    ]


def _successors(
    number: int, body: Sequence[Instruction], labels: Mapping[str, int], count: int
) -> Iterator[int]:
    """The blocks that may follow one; predicates are not asked."""
    if number + 1 < count:
        yield number + 1
    if body and (found := _TARGET.search(", ".join(body[-1].operands))):
        if (target := labels.get(found["label"])) is not None:
            yield target


def _flow(blocks: Sequence[Block]) -> list[State]:
    """
    Return the abstract values of the registers at the start of each block: a fixed
    point over all paths.
    """
    states: list[State | None] = [None] * len(blocks)
    states[0] = {}
    waiting = [0]
    while waiting:
        number = waiting.pop()
        held = dict(states[number] or {})
        for instruction in blocks[number].instructions:
            _step(instruction, held)
        for successor in blocks[number].successors:
            before = states[successor]
            after = held if before is None else _join(before, held)
            if after != before:
                states[successor] = dict(after)
                waiting.append(successor)
    return [state or {} for state in states]


def _join(left: State, right: State) -> State:
    """
    Return the join of two states, where two paths meet or after a predicated
    instruction.
    """
    return {
        register: kind if right.get(register) is kind else Kind.UNKNOWN
        for register, kind in {**right, **left}.items()
    }


def _objections(instruction: Instruction, held: State) -> Iterator[str]:
    if "GMMA" not in instruction.operation:
        return
    for position, operand in enumerate(instruction.operands):
        if (found := _DESCRIPTOR.search(operand)) is None:
            continue
        first = int(found["number"])
        # The left factor may come in registers, before the descriptor of the right one.
        for low in (first, first + 2) if position == 1 else (first + 2,):
            if _kind(f"UR{low}", held) is Kind.OTHER:
                yield f"the address in UR{low} of {instruction.code} is no masked one"
            if _kind(f"UR{low + 1}", held) in (Kind.OTHER, Kind.ADDRESS):
                yield f"the upper word in UR{low + 1} of {instruction.code} varies"


def _step(instruction: Instruction, held: dict[str, Kind]) -> None:
    """Note what an instruction leaves in registers."""
    operands = instruction.operands
    if not operands or (found := _REGISTER.match(operands[0].split(".")[0])) is None:
        return
    if instruction.operation.startswith(("ST", "RED", "BAR", "HGMMA")):
        return
    name = operands[0].split(".")[0]
    file, number = name.rstrip("0123456789"), int(found["number"])
    sources = [each.split(".")[0] for each in operands[1:]]
    if instruction.code == "UIADD3.64":
        parts = [_kind(_beside(sources[0], part), held) for part in (0, 1)]
    else:
        is_wide = ".64" in instruction.code or ".WIDE" in instruction.code
        count = 4 if ".128" in instruction.code else 2 if is_wide else 1
        parts = [_result(instruction, sources, held), *[Kind.OTHER] * (count - 1)]
    written = {f"{file}{number + part}": kind for part, kind in enumerate(parts)}
    if instruction.is_predicated:
        before = {each: held[each] for each in written if each in held}
        written = dict(_join(before, written))
    held.update(written)


def _result(instruction: Instruction, sources: Sequence[str], held: State) -> Kind:
    """Return the abstract value of an instruction's result."""
    operation = instruction.operation
    values = [each for each in sources if _REGISTER.match(each) or _is_number(each)]
    if operation in ("R2UR", "S2UR", "S2R"):
        return Kind.UNKNOWN
    if operation in ("UMOV", "MOV"):
        return _kind(values[0], held) if values else Kind.OTHER
    if operation in ("ULOP3", "LOP3") and any(map(_is_mask, values[:3])):
        return Kind.ADDRESS
    if operation in ("USGXT", "SGXT") and _number(values[-1]) == ADDRESS_BITS:
        return Kind.ADDRESS
    if operation in ("UIADD3", "IADD3", "VIADD", "ULOP3", "LOP3"):
        return _sum(_kind(each, held) for each in values[:3])
    return Kind.OTHER


def _sum(terms: Iterable[Kind]) -> Kind:
    """Return the abstract value of a sum, or of a bitwise or."""
    kinds = set(terms)
    if Kind.UNKNOWN in kinds:
        return Kind.UNKNOWN
    kinds -= {Kind.CONSTANT}
    if not kinds:
        return Kind.CONSTANT
    return Kind.ADDRESS if kinds == {Kind.ADDRESS} else Kind.OTHER


def _kind(source: str, held: State) -> Kind:
    if not _REGISTER.match(source):
        return Kind.CONSTANT
    return held.get(source, Kind.OTHER)


def _beside(register: str, part: int) -> str:
    """The register that holds a part of a pair."""
    if (found := _REGISTER.match(register)) is None:
        return register
    return f"{register.rstrip('0123456789')}{int(found['number']) + part}"


def _is_number(text: str) -> bool:
    return text in ("URZ", "RZ") or _number(text) is not None


def _number(text: str) -> int | None:
    try:
        return int(text, 0)
    except ValueError:
        return None


def _is_mask(text: str) -> bool:
    number = _number(text)
    return number is not None and 0 < number <= ADDRESS_MASK
