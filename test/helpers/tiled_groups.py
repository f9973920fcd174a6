"""Functions with one group: their arguments, their lowering and their results."""

from collections.abc import Sequence

import ml_dtypes
import numpy as np
from numpy.random import Generator
from xdsl.dialects.builtin import ModuleOp

from tlf.compiler.driver.driver import new_context
from tlf.dialects.entry_point import argument_types, find_entry_point
from tlf.dialects.interfaces import Array
from tlf.dialects.target import TargetSpec
from tlf.dialects.types import dtype_of
from tlf.lowering.graph_to_tile.convert_graph_to_tile import ConvertGraphToTilePass


def arguments_of(module: ModuleOp, rng: Generator) -> dict[str, Array]:
    """Return random arrays for the arguments."""
    arrays: dict[str, Array] = {}
    function = find_entry_point(module)
    pairs = zip(function.body.block.args, argument_types(function), strict=True)
    for argument, type_ in pairs:
        shape, dtype = type_.get_shape(), dtype_of(type_.element_type)
        scale = 100 if dtype.kind == "i" else 1
        array = scale * rng.uniform(-1, 1, shape)
        arrays[argument.name_hint or ""] = array.astype(dtype)
    return arrays


def tiled(module: ModuleOp, target: TargetSpec) -> None:
    """Lower the group to loops. Raises `TilingError`."""
    target.attach_to_module(module)
    ConvertGraphToTilePass().apply(new_context(), module)
    module.verify()


def check_equal(found: Sequence[Array], expected: Sequence[Array]) -> None:
    for actual, reference in zip(found, expected, strict=True):
        assert actual.dtype == reference.dtype
        tolerance = 2e-2 if reference.dtype == ml_dtypes.bfloat16 else 1e-4
        np.testing.assert_allclose(
            actual.astype(float),
            reference.astype(float),
            rtol=tolerance,
            atol=tolerance,
        )
