"""Reference interpreter of the `mem` dialect: functions to register."""

from xdsl.interpreter import InterpreterFunctions

from tlf.dialects.interpreters.in_flight_moves import InFlightMoves
from tlf.dialects.interpreters.loop_functions import LoopFunctions
from tlf.dialects.interpreters.mem_compute import ComputeFunctions
from tlf.dialects.interpreters.mem_moves import MoveFunctions
from tlf.dialects.interpreters.poison import Poison


def mem_functions(poison: Poison | None = None) -> tuple[InterpreterFunctions, ...]:
    """Return the interpreter functions of `mem` programs, without those of `func`."""
    flight = InFlightMoves()
    return MoveFunctions(poison, flight), ComputeFunctions(flight), LoopFunctions()
