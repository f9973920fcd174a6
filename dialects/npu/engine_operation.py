"""
Operation base of the `npu` dialect: instructions of all engines, with a destination and
input addresses.

Every instruction has addresses: the destination first, then the inputs.
"""

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    IntegerType,
)
from xdsl.irdl import (
    IRDLOperation,
    VarOperand,
    prop_def,
)
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.npu.address_attribute import Access, read_accesses

ELEMENT_TYPES = ("bf16", "f16", "f32", "i1", "i32", "i64", "i8")


class EngineOp(IRDLOperation, ABC):
    """Base of `npu` instructions with addresses that are queued on an engine."""

    accesses = prop_def(ArrayAttr)

    @property
    def base_values(self) -> VarOperand:
        raise NotImplementedError

    @property
    def engine(self) -> str:
        """Name of the engine that executes the instruction."""
        raise NotImplementedError

    @property
    def addresses(self) -> tuple[Access | float, ...]:
        """Addresses and immediate numbers: the destination, then the inputs."""
        return read_accesses(self.accesses, self.base_values)

    @property
    def destination(self) -> Access:
        """
        Address that is written, the first one; `VerifyException` if there is none.
        """
        first = self.addresses[0] if self.accesses.data else None
        if not isinstance(first, Access):
            raise VerifyException("expected an address to write")
        return first

    @property
    def inputs(self) -> tuple[Access | float, ...]:
        """Addresses and immediate numbers of the inputs."""
        return self.addresses[1:]

    def verify_addresses(self, input_count: int, ranks: Sequence[int]) -> None:
        """Check the number of inputs and the number of strides of every address."""
        _ = self.destination
        if len(self.inputs) != input_count:
            raise VerifyException(
                f"expected {input_count} inputs, got {len(self.inputs)}"
            )
        for access, rank in zip(self.addresses, ranks, strict=True):
            if not isinstance(access, Access):
                continue
            if len(access.strides) != rank:
                raise VerifyException(
                    f"expected {rank} strides, one per dimension, got "
                    f"{len(access.strides)}"
                )
            if str(access.element_type) not in ELEMENT_TYPES:
                raise VerifyException(
                    f"expected an element type of {', '.join(ELEMENT_TYPES)}, got "
                    f"{access.element_type}"
                )

    def verify_addresses_in_level(self, level: str) -> None:
        """
        Raise `VerifyException` unless all addresses are in the memory level named
        `level`.
        """
        for access in self.addresses:
            if isinstance(access, Access) and access.level != level:
                raise VerifyException(
                    f"expected addresses in {level}, where the {self.engine} engine "
                    f"works, got {access.level}"
                )


def to_ints(array: DenseArrayBase[IntegerType]) -> tuple[int, ...]:
    return tuple(array.get_values())
