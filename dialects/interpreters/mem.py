"""Interpreter functions to register for programs of the `mem` dialect."""

from xdsl.interpreter import InterpreterFunctions

from tlf.dialects.interpreters.in_flight_moves import InFlightMoves
from tlf.dialects.interpreters.loop_functions import LoopFunctions
from tlf.dialects.interpreters.mem_compute import ComputeFunctions
from tlf.dialects.interpreters.mem_moves import MoveFunctions
from tlf.dialects.interpreters.poison import Poison


def mem_functions(poison: Poison | None = None) -> tuple[InterpreterFunctions, ...]:
    """
    Everything that a program of the `mem` dialect needs but functions themselves.
    """
    flight = InFlightMoves()
    return MoveFunctions(poison, flight), ComputeFunctions(flight), LoopFunctions()
