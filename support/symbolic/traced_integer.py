"""
Traced integers: closed forms of a function of integers, from one execution of it.

A function is executed with traced integers, which have a value and the expression that
computes it. Its results are then closed forms in its inputs. A comparison returns its
outcome for the values and becomes a constraint: the closed forms hold for all inputs
that satisfy the constraints, since the function then takes the same path (concolic
execution; Godefroid, Klarlund and Sen, DART, 2005).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias, TypeVar, cast

Function: TypeAlias = Callable[[int, int], int]

Decision = TypeVar("Decision")


class TraceStep(NamedTuple):
    """Binary operation of a trace: slots of its result and of its operands."""

    slot: int
    function: Function
    left: int
    right: int
    outcome: bool | None
    """Required outcome of a comparison; None for arithmetic."""


class DecisionStep(NamedTuple):
    """Function of several numbers that must return an outcome."""

    function: Callable[[Sequence[int]], object]
    slots: tuple[int, ...]
    outcome: object


@dataclass
class Trace:
    """Operations on the inputs of a function, in the order of their execution."""

    input_count: int
    _steps: list[TraceStep] = field(default_factory=list[TraceStep])
    _decisions: list[DecisionStep] = field(default_factory=list[DecisionStep])
    _initial_values: list[int] = field(default_factory=list[int])
    """Values of all slots before execution: constants, and 0 for inputs and results."""
    _slots: dict[Hashable, int] = field(default_factory=dict[Hashable, int])
    """Slots of constants and of results, by operation and operands."""
    _extension: tuple[list[TraceStep], list[DecisionStep]] | None = None
    """Steps and decisions after those of the function; `None` if it is executed."""

    def __post_init__(self) -> None:
        self._initial_values = [0] * self.input_count

    def make_inputs(self, values: Sequence[int]) -> list[int]:
        """Return the traced inputs for some values, typed as what they stand for."""
        inputs = [TracedInteger(self, slot, each) for slot, each in enumerate(values)]
        return cast(list[int], inputs)

    def evaluate(self, inputs: Sequence[int]) -> list[int] | None:
        """
        Return the values of all slots for some inputs; None if they violate a
        constraint.
        """
        values = self._initial_values.copy()
        values[: self.input_count] = inputs
        return values if _execute(self._steps, self._decisions, values) else None

    def start_extension(self) -> None:
        """
        End the function: what is executed from now on, with its results, extends the
        trace without constraining the function itself.
        """
        if self._extension is None:
            self._extension = [], []

    def evaluate_extension(self, values: list[int]) -> bool:
        """
        Add the values of the extension to those of the function; return `False` if they
        violate a constraint of it.
        """
        return self._extension is None or _execute(*self._extension, values)

    def slot_of(self, number: Traceable) -> int:
        """Return the slot of a number, traced or constant."""
        if isinstance(number, TracedInteger):
            return number.slot
        return self._find_or_add_slot(number, number)[0]

    def compute(
        self, function: Function, left: Traceable, right: Traceable
    ) -> TracedInteger:
        """Return the result of a binary operation, recorded once."""
        key = function, self.slot_of(left), self.slot_of(right)
        slot, is_new = self._find_or_add_slot(key, 0)
        if is_new:
            self._add_step(TraceStep(slot, *key, None))
        return TracedInteger(self, slot, function(value_of(left), value_of(right)))

    def compare(
        self,
        function: Callable[[int, int], bool],
        left: Traceable,
        right: Traceable,
    ) -> bool:
        """Return the outcome of a comparison, and require it."""
        outcome = function(value_of(left), value_of(right))
        key = function, self.slot_of(left), self.slot_of(right)
        slot, is_new = self._find_or_add_slot(key, 0)
        if is_new:
            self._add_step(TraceStep(slot, *key, outcome))
        return outcome

    def decide(
        self, function: Callable[[Sequence[int]], Decision], numbers: Sequence[int]
    ) -> Decision:
        """Return the result of a function of traced numbers, and require it."""
        outcome = function([value_of(each) for each in numbers])
        slots = tuple([self.slot_of(each) for each in numbers])
        decisions = self._decisions if self._extension is None else self._extension[1]
        decisions.append(DecisionStep(function, slots, outcome))
        return outcome

    def _add_step(self, step: TraceStep) -> None:
        """Record a step of the function, or of the extension."""
        steps = self._steps if self._extension is None else self._extension[0]
        steps.append(step)

    def _find_or_add_slot(self, key: Hashable, value: int) -> tuple[int, bool]:
        if (slot := self._slots.get(key)) is not None:
            return slot, False
        slot = self._slots[key] = len(self._initial_values)
        self._initial_values.append(value)
        return slot, True


def _execute(
    steps: Sequence[TraceStep], decisions: Sequence[DecisionStep], values: list[int]
) -> bool:
    """Compute the values of some slots; return `False` if a constraint is violated."""
    for slot, function, left, right, outcome in steps:
        values[slot] = result = function(values[left], values[right])
        if outcome is not None and result is not outcome:
            return False
    return all(
        function([values[slot] for slot in slots]) == outcome
        for function, slots, outcome in decisions
    )


class UntraceableError(TypeError):
    """Error: an integer is used in a way that has no closed form."""


class TracedInteger:
    """
    Integer with the trace that computes it. Formatting constrains it to its value;
    hashing, and use as an index, raise `UntraceableError`.
    """

    __slots__ = "slot", "trace", "value"

    def __init__(self, trace: Trace, slot: int, value: int) -> None:
        self.trace = trace
        self.slot = slot
        self.value = value

    def __add__(self, other: Traceable) -> TracedInteger:
        return self.trace.compute(operator.add, self, other)

    def __radd__(self, other: int) -> TracedInteger:
        return self.trace.compute(operator.add, other, self)

    def __sub__(self, other: Traceable) -> TracedInteger:
        return self.trace.compute(operator.sub, self, other)

    def __rsub__(self, other: int) -> TracedInteger:
        return self.trace.compute(operator.sub, other, self)

    def __mul__(self, other: Traceable) -> TracedInteger:
        return self.trace.compute(operator.mul, self, other)

    def __rmul__(self, other: int) -> TracedInteger:
        return self.trace.compute(operator.mul, other, self)

    def __floordiv__(self, other: Traceable) -> TracedInteger:
        return self.trace.compute(int.__floordiv__, self, other)

    def __rfloordiv__(self, other: int) -> TracedInteger:
        return self.trace.compute(int.__floordiv__, other, self)

    def __mod__(self, other: Traceable) -> TracedInteger:
        return self.trace.compute(operator.mod, self, other)

    def __rmod__(self, other: int) -> TracedInteger:
        return self.trace.compute(operator.mod, other, self)

    def __lshift__(self, other: Traceable) -> TracedInteger:
        return self.trace.compute(int.__lshift__, self, other)

    def __rlshift__(self, other: int) -> TracedInteger:
        return self.trace.compute(int.__lshift__, other, self)

    def __divmod__(self, other: Traceable) -> tuple[TracedInteger, TracedInteger]:
        return self // other, self % other

    def __rdivmod__(self, other: int) -> tuple[TracedInteger, TracedInteger]:
        return other // self, other % self

    def __neg__(self) -> TracedInteger:
        return 0 - self

    def __pos__(self) -> TracedInteger:
        return self

    def __abs__(self) -> TracedInteger:
        return -self if self < 0 else self

    def bit_length(self) -> TracedInteger:
        """Return the number of bits of the absolute value."""
        return self.trace.compute(_bit_length, self, 0)

    def __lt__(self, other: Traceable) -> bool:
        return self.trace.compare(operator.lt, self, other)

    def __le__(self, other: Traceable) -> bool:
        return self.trace.compare(operator.le, self, other)

    def __gt__(self, other: Traceable) -> bool:
        return self.trace.compare(operator.gt, self, other)

    def __ge__(self, other: Traceable) -> bool:
        return self.trace.compare(operator.ge, self, other)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, int | TracedInteger):
            return NotImplemented
        return self.trace.compare(operator.eq, self, other)

    def __bool__(self) -> bool:
        return not self == 0

    def __hash__(self) -> int:
        raise UntraceableError("expected a traced integer not to be hashed")

    def __index__(self) -> int:
        raise UntraceableError("expected a traced integer not to be an index")

    def __str__(self) -> str:
        return format(self)

    def __format__(self, format_spec: str) -> str:
        self.trace.compare(operator.eq, self, self.value)
        return format(self.value, format_spec)


Traceable: TypeAlias = int | TracedInteger


def value_of(number: Traceable) -> int:
    """Return the value of a number for which a function was executed."""
    return number.value if isinstance(number, TracedInteger) else number


def decide(
    function: Callable[[Sequence[int]], Decision], numbers: Sequence[int]
) -> Decision:
    """
    Return the result of a function of numbers, which has no closed form. If some are
    traced, the result is required: closed forms hold for numbers with the same result.
    """
    traced = (each for each in numbers if isinstance(each, TracedInteger))
    if (first := next(traced, None)) is None:
        return function(numbers)
    return first.trace.decide(function, numbers)


def _bit_length(number: int, _: int) -> int:
    return number.bit_length()
