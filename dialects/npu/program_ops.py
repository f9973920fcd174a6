"""
Operations of the `npu` dialect for programs with their memory map, and for semaphores
between engines.
"""

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    StringAttr,
    SymbolNameConstraint,
    TensorType,
    i64,
)
from xdsl.ir import Attribute, Region
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    prop_def,
    region_def,
    traits_def,
)
from xdsl.traits import (
    HasParent,
    IsolatedFromAbove,
    IsTerminator,
    SymbolOpInterface,
)
from xdsl.utils.exceptions import VerifyException


@irdl_op_definition
class HaltOp(IRDLOperation):
    """
    End the program once all engines have finished.

    ```mlir
    npu.halt
    ```
    """

    name = "npu.halt"

    traits = traits_def(IsTerminator())

    assembly_format = "attr-dict"

    def __init__(self) -> None:
        super().__init__()


@irdl_op_definition
class ProgramOp(IRDLOperation):
    """
    Program of the control processor, with its memory map first.

    Loops are `scf.for`; scalars are computed with `arith` on `index`.

    ```mlir
    npu.program @double semaphores 1 {
      npu.input "x" in "L3" at 0 : tensor<64xf32>
      npu.output "y" in "L3" at 256 : tensor<64xf32>
      npu.halt
    }
    ```
    """

    name = "npu.program"

    sym_name = prop_def(SymbolNameConstraint())
    semaphores = prop_def(IntegerAttr.constr(i64))

    body = region_def("single_block")

    traits = traits_def(
        IsolatedFromAbove(),
        SymbolOpInterface(),
    )

    assembly_format = "$sym_name `semaphores` $semaphores attr-dict-with-keyword $body"

    def __init__(self, name: str, body: Region, semaphores: int = 0) -> None:
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "semaphores": IntegerAttr(semaphores, i64),
            },
            regions=[body],
        )

    def verify_(self) -> None:
        if not isinstance(self.body.block.last_op, HaltOp):
            raise VerifyException("expected a program that ends in `npu.halt`")
        count = self.semaphores.value.data
        for op in self.body.walk():
            if isinstance(op, SignalOp | WaitOp) and not 0 <= op.semaphore_id < count:
                raise VerifyException(
                    f"expected a semaphore below {count}, got {op.semaphore_id}"
                )


class HostArrayOp(IRDLOperation):
    """
    Base of program inputs and outputs: a named array at a fixed address of a level.
    """

    sym_name = prop_def(StringAttr)
    level = prop_def(StringAttr)
    address = prop_def(IntegerAttr.constr(i64))
    type = prop_def(TensorType)

    traits = traits_def(HasParent(ProgramOp))

    assembly_format = "$sym_name `in` $level `at` $address attr-dict `:` $type"

    def __init__(
        self, name: str, level: str, address: int, type: TensorType[Attribute]
    ) -> None:
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "level": StringAttr(level),
                "address": IntegerAttr(address, i64),
                "type": type,
            },
        )

    def verify_(self) -> None:
        if self.address.value.data < 0:
            raise VerifyException(
                f"expected an address of at least 0, got {self.address.value.data}"
            )


@irdl_op_definition
class InputOp(HostArrayOp):
    """
    Array that the host writes before the program starts.

    ```mlir
    npu.input "x" in "L3" at 0 : tensor<1000x512xf32>
    ```
    """

    name = "npu.input"


@irdl_op_definition
class OutputOp(HostArrayOp):
    """
    Array that the host reads after the program ends.

    ```mlir
    npu.output "y" in "L3" at 4096 : tensor<1000xf32>
    ```
    """

    name = "npu.output"


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """
    Named array with constant elements, stored in the program, at an address of a level.

    ```mlir
    npu.constant "c0" in "L3" at 8192 dense<[1.0, 2.0]> : tensor<2xf32>
    ```
    """

    name = "npu.constant"

    sym_name = prop_def(StringAttr)
    level = prop_def(StringAttr)
    address = prop_def(IntegerAttr.constr(i64))
    value = prop_def(DenseIntOrFPElementsAttr)

    traits = traits_def(HasParent(ProgramOp))

    assembly_format = "$sym_name `in` $level `at` $address attr-dict $value"

    def __init__(
        self, name: str, level: str, address: int, value: DenseIntOrFPElementsAttr
    ) -> None:
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "level": StringAttr(level),
                "address": IntegerAttr(address, i64),
                "value": value,
            },
        )

    @property
    def type(self) -> TensorType[Attribute]:
        return cast(TensorType[Attribute], self.value.type)


class SemaphoreOp(IRDLOperation):
    """Base of signal and wait: an engine and a semaphore, queued in order."""

    engine_name = prop_def(StringAttr)
    semaphore = prop_def(IntegerAttr.constr(i64))

    assembly_format = "$engine_name $semaphore attr-dict"

    def __init__(self, engine: str, semaphore: int) -> None:
        super().__init__(
            properties={
                "engine_name": StringAttr(engine),
                "semaphore": IntegerAttr(semaphore, i64),
            },
        )

    @property
    def engine(self) -> str:
        return self.engine_name.data

    @property
    def semaphore_id(self) -> int:
        return self.semaphore.value.data


@irdl_op_definition
class SignalOp(SemaphoreOp):
    """
    Increment a semaphore after all earlier work of an engine is complete.

    ```mlir
    npu.signal "dma_l3_l2" 0
    ```
    """

    name = "npu.signal"


@irdl_op_definition
class WaitOp(SemaphoreOp):
    """
    Block an engine until a semaphore is positive, then decrement it.

    ```mlir
    npu.wait "vector" 0
    ```
    """

    name = "npu.wait"


def arrays_in_memory_map(
    program: ProgramOp,
) -> Sequence[InputOp | OutputOp | ConstantOp]:
    """
    Return the input, output and constant operations of a program, in program order.
    """
    return [
        op
        for op in program.body.block.ops
        if isinstance(op, InputOp | OutputOp | ConstantOp)
    ]
