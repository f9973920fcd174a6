"""
Lowering of stored constants to module globals, one for each distinct value and type.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects import memref
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    UnitAttr,
)
from xdsl.ir import Attribute

from tlf.dialects import graph
from tlf.dialects.global_elements import SIDE_FILE
from tlf.dialects.interfaces import ConstantInterface
from tlf.lowering.tile_to_mem.bufferization_error import BufferizationError


class ConstantGlobals:
    """Globals of a module, one per distinct value and type of a constant."""

    def __init__(self, module: ModuleOp) -> None:
        self.module = module
        self.names: dict[tuple[Attribute, Attribute], str] = {}

    def get_or_create_global(
        self, op: ConstantInterface, type_: MemRefType[Attribute]
    ) -> memref.GetGlobalOp:
        """Return an access to a constant's global, created on first use."""
        if not isinstance(op, graph.ConstantOp):
            raise BufferizationError(op, "expected a constant with a value")
        key = (op.value, type_)
        if (name := self.names.get(key)) is None:
            name = self.names[key] = f"constant{len(self.names)}"
            self._define_global(op, name, type_)
        return memref.GetGlobalOp(name, type_)

    def _define_global(
        self, op: graph.ConstantOp, name: str, type_: MemRefType[Attribute]
    ) -> None:
        """Insert a private `memref.global` with the constant's value in the module."""
        value: Attribute = op.value
        dense = isinstance(value, DenseIntOrFPElementsAttr)
        initial = cast(Attribute, value) if dense else UnitAttr()
        global_op = memref.GlobalOp.get(
            StringAttr(name),
            type_,
            initial,
            sym_visibility=StringAttr("private"),
            constant=UnitAttr(),
        )
        if not dense:
            global_op.attributes[SIDE_FILE] = value
        global_op.location = op.location
        first_op = self.module.body.block.first_op
        if first_op is None:
            self.module.body.block.add_op(global_op)
        else:
            self.module.body.block.insert_op_before(global_op, first_op)
