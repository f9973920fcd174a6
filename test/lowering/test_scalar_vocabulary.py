"""
Every target has what the reference has: a new elementwise operation needs no new table
entries.
"""

from tlf.dialects.interpreters.scalar_functions import FUNCTIONS
from tlf.dialects.npu import VECTOR_ARITY
from tlf.lowering.mem_to_npu.vector_opcodes import VECTOR_OPCODES
from tlf.lowering.mem_to_triton.scalar_expressions import SUPPORTED_OPERATIONS
from tlf.runtime.npu.engine_arithmetic import OPERANDS


def test_the_npu_has_all_scalar_operations():
    assert set(VECTOR_OPCODES) == set(FUNCTIONS)
    assert set(VECTOR_OPCODES.values()) <= set(OPERANDS)


def test_triton_has_all_scalar_operations():
    assert {kind.name for kind in FUNCTIONS} <= SUPPORTED_OPERATIONS


def test_the_dialect_and_the_simulator_agree_on_operands():
    assert VECTOR_ARITY == OPERANDS
