"""
The `mem` dialect on numpy arrays: what to register to run a program of it.
"""

from xdsl.interpreter import InterpreterFunctions

from tlf.dialects.interpreters.flight import Flight
from tlf.dialects.interpreters.loops import LoopFunctions
from tlf.dialects.interpreters.mem_compute import ComputeFunctions
from tlf.dialects.interpreters.mem_moves import MoveFunctions
from tlf.dialects.interpreters.poison import Poison


def mem_functions(poison: Poison | None = None) -> tuple[InterpreterFunctions, ...]:
    """
    Everything that a program of the `mem` dialect needs but functions themselves.
    """
    flight = Flight()
    return MoveFunctions(poison, flight), ComputeFunctions(flight), LoopFunctions()
