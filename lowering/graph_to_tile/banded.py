"""Sums of products whose neighbouring results are columns."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Operation, SSAValue

from tlf.analysis.operations.bands import SystolicArray
from tlf.analysis.tiling.banded import bands_of
from tlf.analysis.tiling.model import TiledOperation
from tlf.dialects import graph
from tlf.dialects.interfaces import ContractionInterface, indexing_map


def banded(
    array: SystolicArray | None,
    tiled: TiledOperation,
    operands: Sequence[SSAValue],
    type_: Attribute,
) -> Operation | None:
    """An operation as a product of bands of given tiles, if it is to be one."""
    op, form = tiled.op, tiled.form
    bands = bands_of(array, op, tiled.box, form)
    if bands is None or not isinstance(op, ContractionInterface):
        return None
    domain = bands.domain
    maps = [
        indexing_map(each, len(domain)).data
        for each in bands.accesses(form.operands, form.result)
    ]
    acc = op.accumulator_type
    return graph.LinearContractOp(operands, domain, maps, type_, acc, op.precision)
