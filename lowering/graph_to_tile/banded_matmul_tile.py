"""Banded (Toeplitz) matmuls: tiles of narrow convolutions as contractions."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Operation, SSAValue

from tlf.analysis.operations.banded_matmul import SystolicArray
from tlf.analysis.tiling.banded_windows import banded_matmul_of
from tlf.analysis.tiling.group_tiling import TiledOperation
from tlf.dialects import graph
from tlf.dialects.interfaces import ContractionInterface, to_affine_map


def build_banded_matmul(
    array: SystolicArray | None,
    tiled: TiledOperation,
    operands: Sequence[SSAValue],
    type_: Attribute,
) -> Operation | None:
    """Build a tiled operation as a banded matmul, or return `None` if it is not one."""
    op, form = tiled.op, tiled.facts
    bands = banded_matmul_of(array, op, tiled.box, form)
    if bands is None or not isinstance(op, ContractionInterface):
        return None
    domain = bands.domain_extents
    maps = [
        to_affine_map(each, len(domain)).data
        for each in bands.tile_accesses(form.indexing_maps, form.result_map)
    ]
    acc = op.accumulator_type
    return graph.LinearContractOp(operands, domain, maps, type_, acc, op.precision)
