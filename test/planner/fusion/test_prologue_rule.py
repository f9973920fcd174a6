"""Moves of the factors of products that threads read: which a group computes itself."""

import pytest
from gpu_programs import H200, members

from tlf.planner.fusion.prologue_rule import TRANSPOSED, UNALIGNED, PrologueRule

RULE = PrologueRule(H200.levels["L1"], H200)

X, W, Y = "tensor<64x128xf32>", "tensor<128x96xf32>", "tensor<64x96xf32>"


def product(move: str, source: str, precision: str, maps: str = "(i, k)") -> str:
    """Return a product whose left factor is moved."""
    listed = ", ".join(
        f"affine_map<(i, j, k) -> {each}>" for each in (maps, "(k, j)", "(i, j)")
    )
    x = X if maps == "(i, k)" else "tensor<128x64xf32>"
    return (
        f"func.func @f(%x: {source}, %w: {W}) -> {Y} {{\n"
        f"%u = {move} : ({source}) -> {x}\n"
        f'%y = graph.contract %u, %w maps [{listed}] precision "{precision}" '
        f": ({x}, {W}) -> {Y}\n"
        f"func.return %y : {Y}\n}}"
    )


TRANSPOSE = "graph.transpose %x permutation [1, 0]", "tensor<128x64xf32>"
TO_COLUMNS = "graph.transpose %x permutation [1, 0]", "tensor<64x128xf32>"
PAD = "graph.pad %x low [0, 0] high [0, 1] fill 0.0", "tensor<64x127xf32>"
PAD_ROWS = "graph.pad %x low [0, 0] high [1, 0] fill 0.0", "tensor<63x128xf32>"
WINDOWS = (
    "graph.im2col %x map affine_map<(n, h, r, c) -> (n, h + r, c)> "
    "basis [[8, 8], [2, 64]] fill 0.0",
    "tensor<8x9x64xf32>",
)


@pytest.mark.parametrize(
    ("move", "precision", "maps", "reason"),
    [
        (TRANSPOSE, "bf16x6", "(i, k)", TRANSPOSED),
        (TRANSPOSE, "tf32x3", "(i, k)", TRANSPOSED),
        (TRANSPOSE, "ieee", "(i, k)", None),
        (TO_COLUMNS, "ieee", "(k, i)", TRANSPOSED),
        (TO_COLUMNS, "bf16x6", "(k, i)", None),
        (PAD, "bf16x6", "(i, k)", UNALIGNED),
        (PAD, "ieee", "(i, k)", UNALIGNED),
        (PAD_ROWS, "bf16x6", "(i, k)", None),
        (WINDOWS, "bf16x6", "(i, k)", None),
        (WINDOWS, "ieee", "(i, k)", None),
    ],
)
def test_moves_that_slow_reads_of_factors(
    move: tuple[str, str], precision: str, maps: str, reason: str | None
):
    _, group = members(product(*move, precision, maps))
    assert RULE.prologue_objection(group.operations) == reason
    assert RULE.moves_factors_of_slow_reads(group.operations) == (reason is not None)
