"""Operations that are one of their operands, or a number."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue

from tlf.dialects.graph.algebra import (
    CHAINS,
    INVERSES,
    LAWS,
    SAME,
    Chain,
    Kind,
    Law,
    Outcome,
    SameLaw,
)
from tlf.dialects.graph.equations import number_text, term
from tlf.dialects.graph.functions import NegOp
from tlf.dialects.graph.splats import filled, is_same, splat_of
from tlf.dialects.graph.tensors import element_of
from tlf.dialects.interfaces import Simplification
from tlf.dialects.types import tensor_type

AnyLaw = TypeVar("AnyLaw", Law, SameLaw)


def _by_kind(laws: Sequence[AnyLaw]) -> Mapping[Kind, Sequence[AnyLaw]]:
    found: dict[Kind, list[AnyLaw]] = defaultdict(list)
    for law in laws:
        found[law.kind].append(law)
    return found


_LAWS, _SAME = _by_kind(LAWS), _by_kind(SAME)


def kept(value: SSAValue, _builder: Builder) -> SSAValue:
    """A value that is there."""
    return value


def again(op: Operation, operands: Sequence[SSAValue], builder: Builder) -> SSAValue:
    """The operation, of other operands."""
    made = type(op).create(
        operands=operands,
        result_types=op.result_types,
        properties=dict(op.properties),
        attributes=dict(op.attributes),
    )
    return builder.insert(made).results[0]


def _negated(value: SSAValue, builder: Builder) -> SSAValue:
    return builder.insert(NegOp(value)).result


def _outcome(
    law: Law | SameLaw, op: Operation, value: SSAValue
) -> Simplification | None:
    """
    Return the simplification of an operation by a law; `None` if it does not apply.
    `value` is the operand that may be anything.
    """
    result = tensor_type(op.results[0])
    if not isinstance(law.outcome, Outcome):
        if (number := law.outcome(result.element_type)) is None:
            return None
        return Simplification(
            number_text(number), partial(filled, number=number, type_=result), law.exact
        )
    if value.type != result:
        return None
    if law.outcome is Outcome.OTHER:
        return Simplification("x", partial(kept, value), law.exact)
    return Simplification(term(NegOp, "x"), partial(_negated, value), law.exact)


def _named(left: str, found: Simplification) -> Simplification:
    return Simplification(f"{left} = {found.text}", found.build, found.exact)


def with_numbers(op: Operation) -> Iterable[Simplification]:
    """By the laws of operations of a number."""
    splats = [splat_of(each) for each in op.operands]
    if not any(each is not None for each in splats):
        return
    for law in _LAWS.get(type(op), ()):
        number = law.number(element_of(op.operands[0]))
        if number is None or not is_same(splats[law.side], number):
            continue
        names = ["x", "x"]
        names[law.side] = number_text(number)
        if (found := _outcome(law, op, op.operands[1 - law.side])) is not None:
            yield _named(term(type(op), *names), found)


def of_itself(op: Operation) -> Iterable[Simplification]:
    """By the laws of operations of a value and itself."""
    if len(op.operands) != 2 or op.operands[0] is not op.operands[1]:
        return
    for law in _SAME.get(type(op), ()):
        if (found := _outcome(law, op, op.operands[0])) is not None:
            yield _named(term(type(op), "x", "x"), found)


def of_another(op: Operation) -> Iterable[Simplification]:
    """By the laws of one function after another."""
    inner = op.operands[0].owner
    if not isinstance(inner, Operation) or len(inner.operands) != 1:
        return
    kind, before = type(op), type(inner)
    (x,) = inner.operands
    left = term(kind, term(before, "x"))
    if INVERSES.get(kind) is before:
        yield Simplification(f"{left} = x", partial(kept, x), exact=False)
    match CHAINS.get((kind, before)):
        case Chain.NOTHING:
            yield Simplification(f"{left} = x", partial(kept, x))
        case Chain.INNER:
            text = f"{left} = {term(before, 'x')}"
            yield Simplification(text, partial(kept, inner.results[0]))
        case Chain.OUTER:
            build = partial(again, op, [x])
            yield Simplification(f"{left} = {term(kind, 'x')}", build)
        case None:
            pass
