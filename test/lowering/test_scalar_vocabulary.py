"""
Every target has what the reference has: a new elementwise operation needs no new table
entries.
"""

from tlf.dialects.interpreters.scalars import FUNCTIONS
from tlf.dialects.npu import VECTOR_ARITY
from tlf.lowering.mem_to_npu.scalars import VECTOR
from tlf.lowering.mem_to_triton.scalars import SUPPORTED
from tlf.runtime.npu.engines import OPERANDS


def test_the_npu_has_all_scalar_operations():
    assert set(VECTOR) == set(FUNCTIONS)
    assert set(VECTOR.values()) <= set(OPERANDS)


def test_triton_has_all_scalar_operations():
    assert {kind.name for kind in FUNCTIONS} <= SUPPORTED


def test_the_dialect_and_the_simulator_agree_on_operands():
    assert VECTOR_ARITY == OPERANDS
