"""Pass `convert-tile-to-mem`: lower tiles to buffers, moves and compute."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tlf.dialects.function_calls import called_names_in, functions_of
from tlf.dialects.target import TargetSpec
from tlf.dialects.weight_preparation_attributes import RESULTS
from tlf.lowering.tile_to_mem.constant_globals import ConstantGlobals
from tlf.lowering.tile_to_mem.function_conversion import FunctionConverter


@dataclass(frozen=True)
class ConvertTileToMemPass(ModulePass):
    """
    Assign every tile a buffer in its memory level. Tiles in target-managed levels stay
    SSA values.

    Results are built in place: they become trailing arguments of the function, and
    `tile.deslice` writes into them. A slice into another level becomes an asynchronous
    move, with a wait before the first use of the tile. Elementwise operations and
    accumulations overwrite an operand that is dead afterwards.

    A called function is converted at its first call. The caller passes the buffers of
    its results, except those that overwrite operands.
    """

    name = "convert-tile-to-mem"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = TargetSpec.read_from_module(op)
        constants = ConstantGlobals(op)
        functions = functions_of(op)
        called = called_names_in(op)
        for name, function in functions.items():
            is_converted = name in called or RESULTS in function.attributes
            if function.body.blocks and not is_converted:
                FunctionConverter(
                    function, target, constants, functions
                ).convert_function()
