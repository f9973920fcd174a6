"""Reference interpretation of the `mem` dialect: functions to register."""

from xdsl.interpreter import InterpreterFunctions

from tlf.dialects.interpreters.in_flight_moves import InFlightMoves
from tlf.dialects.interpreters.loop_functions import LoopFunctions
from tlf.dialects.interpreters.mem_compute import MemComputeFunctions
from tlf.dialects.interpreters.mem_moves import MemMoveFunctions
from tlf.dialects.interpreters.poison_values import PoisonTracker


def make_mem_interpreter_functions(
    poison: PoisonTracker | None = None,
) -> tuple[InterpreterFunctions, ...]:
    """Return the interpreter functions of `mem` programs, without those of `func`."""
    flight = InFlightMoves()
    return (
        MemMoveFunctions(poison, flight),
        MemComputeFunctions(flight),
        LoopFunctions(),
    )
