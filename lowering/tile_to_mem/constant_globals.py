"""Module globals of stored constants, one for each distinct value and type."""

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
    """
    The globals of a module, one for each constant that is stored.
    """

    def __init__(self, module: ModuleOp) -> None:
        self.module = module
        self.names: dict[tuple[Attribute, Attribute], str] = {}

    def get_global(
        self, op: ConstantInterface, type_: MemRefType[Attribute]
    ) -> memref.GetGlobalOp:
        """Return an access to a constant's global, which is created on first use."""
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
        value: Attribute = op.value
        dense = isinstance(value, DenseIntOrFPElementsAttr)
        initial = cast(Attribute, value) if dense else UnitAttr()
        made = memref.GlobalOp.get(
            StringAttr(name),
            type_,
            initial,
            sym_visibility=StringAttr("private"),
            constant=UnitAttr(),
        )
        if not dense:
            made.attributes[SIDE_FILE] = value
        made.location = op.location
        first = self.module.body.block.first_op
        if first is None:
            self.module.body.block.add_op(made)
        else:
            self.module.body.block.insert_op_before(made, first)
