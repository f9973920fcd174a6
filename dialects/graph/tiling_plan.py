"""Attribute `graph.plan`: tiling plan of a group, set by a partitioner or a user."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from xdsl.dialects.builtin import ArrayAttr, IntAttr, StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.encoding_attribute import LEVEL_NAME
from tlf.dialects.tile.loop_attributes import Mapping
from tlf.support.former_names import PLAN_KEYS

LIST_KEYS = (
    "tile",
    "reduce",
    "order",
    "sliding",
    "recompute",
    "retain",
    "resident",
    "reload",
    "unroll",
)
"""Keys of a plan whose values are lists of integers."""


def _to_integer_array(values: Sequence[int]) -> ArrayAttr[IntAttr]:
    return ArrayAttr([IntAttr(value) for value in values])


@irdl_attr_definition
class PlanAttr(ParametrizedAttribute):
    """
    Tiling plan of a group for one memory level.

    Tiles are allocated in the memory level `level`. `tile` lists the tile size along
    each parallel iterator of the operation that defines the first result. `reduce`
    lists the tile size along each reduction iterator of the accumulating operation that
    has a loop, usually the last one; if it is empty, reductions are not tiled.
    `mapping` is the mapping of the loops over tiles, and `order` lists the loops as
    positions in `tile`, outermost loop first. `stages` is the number of iterations in
    flight, `reduce_stages` the number of reduction tiles in flight, by default
    `stages`. `warps` is the number of warps that compute a tile on a GPU; by default,
    it follows from the tile sizes. `unroll` lists, for each loop, how many tiles a
    program of a GPU computes at once whose elements alternate along the axis
    (unroll-and-jam), so that they share what overlapping windows read.

    Where tiles overlap (a halo), shared elements are recomputed, or read again, for
    each tile. Along the axis `sliding`, a position in `tile`, they stay in the level
    from one tile to the next instead, except for the values that `recompute` lists:
    indices into the operands of the group, followed by the results of the operations of
    its body. With `prefetch_distance 1`, producers of sliding windows run one iteration
    ahead of their consumers, which then do not wait for them.

    `resident` lists indices of operands that are resident in the level: loaded as a
    whole before all tiles, unless they are resident already. Groups of a block share a
    resident operand. From a group on that also lists it in `reload`, they share the
    reloaded copy, and the operand need not be resident before that group. `retain`
    lists indices of results that stay in the level as a whole for the groups in which
    they are resident; they are written to the outermost memory only if they have other
    users. The buffer of a retained result has room for a full last tile.

    ```mlir
    #graph.plan<L2, tile [16, 64], reduce [64], mapping loop, order [1, 0], stages 2>
    #graph.plan<L1, tile [16, 64], reduce [64], mapping loop, stages 2, reduce_stages 3>
    #graph.plan<L1, tile [16, 64], reduce [64], mapping grid, warps 8>
    #graph.plan<L1, tile [32, 32], reduce [1], mapping grid, unroll [4, 1]>
    #graph.plan<L2, tile [1, 64, 8, 56], mapping loop, sliding [2], recompute [0]>
    #graph.plan<L2, tile [1, 64, 8, 56], mapping loop, sliding [2], prefetch_distance 1>
    #graph.plan<L2, tile [1, 64, 8, 56], mapping loop, retain [0], resident [0, 2]>
    #graph.plan<L2, tile [1, 64, 8, 56], mapping loop, resident [0, 2], reload [2]>
    ```
    """

    name = "graph.plan"

    level: StringAttr
    tile: ArrayAttr[IntAttr]
    reduce: ArrayAttr[IntAttr]
    mapping: StringAttr
    order: ArrayAttr[IntAttr]
    stages: IntAttr
    reduce_stages: IntAttr
    sliding: ArrayAttr[IntAttr]
    recompute: ArrayAttr[IntAttr]
    retain: ArrayAttr[IntAttr]
    resident: ArrayAttr[IntAttr]
    reload: ArrayAttr[IntAttr]
    prefetch_distance: IntAttr
    warps: IntAttr
    """Number of warps; 0 if it follows from the tile sizes."""
    unroll: ArrayAttr[IntAttr]

    def __init__(
        self,
        level: str,
        tile: Sequence[int],
        reduce: Sequence[int] = (),
        mapping: Mapping | str = Mapping.LOOP,
        order: Sequence[int] = (),
        stages: int = 1,
        sliding: Sequence[int] = (),
        recompute: Sequence[int] = (),
        retain: Sequence[int] = (),
        resident: Sequence[int] = (),
        reload: Sequence[int] = (),
        reduce_stages: int | None = None,
        prefetch_distance: int = 0,
        warps: int | None = None,
        unroll: Sequence[int] = (),
    ):
        super().__init__(
            StringAttr(level),
            _to_integer_array(tile),
            _to_integer_array(reduce),
            StringAttr(str(mapping)),
            _to_integer_array(order),
            IntAttr(stages),
            IntAttr(stages if reduce_stages is None else reduce_stages),
            _to_integer_array(sliding),
            _to_integer_array(recompute),
            _to_integer_array(retain),
            _to_integer_array(resident),
            _to_integer_array(reload),
            IntAttr(prefetch_distance),
            IntAttr(warps or 0),
            _to_integer_array(unroll),
        )

    @property
    def tile_sizes(self) -> tuple[int, ...]:
        """Elements per tile along each parallel iterator."""
        return tuple(size.data for size in self.tile)

    @property
    def reduce_sizes(self) -> tuple[int, ...]:
        """Elements per reduction tile along each reduction iterator; may be empty."""
        return tuple(size.data for size in self.reduce)

    @property
    def loop_mapping(self) -> Mapping:
        """Mapping of the loops over tiles."""
        return Mapping(self.mapping.data)

    @property
    def loop_order(self) -> tuple[int, ...]:
        """Loop order as positions in `tile_sizes`, outermost loop first."""
        positions = tuple(position.data for position in self.order)
        return positions or tuple(range(len(self.tile)))

    @property
    def innermost_stage_count(self) -> int:
        """Number of tiles in flight in the innermost loop: reduction tiles, if any."""
        return self.reduce_stage_count if self.reduce_sizes else self.stage_count

    @property
    def stage_count(self) -> int:
        """Number of iterations in flight."""
        return self.stages.data

    @property
    def reduce_stage_count(self) -> int:
        """Number of reduction tiles in flight."""
        return self.reduce_stages.data

    @property
    def warp_count(self) -> int | None:
        """Number of warps that compute a tile; `None` if it follows from the sizes."""
        return self.warps.data or None

    @property
    def unroll_factors(self) -> tuple[int, ...]:
        """Number of alternating tiles per program along each axis; empty if all 1."""
        return tuple(factor.data for factor in self.unroll)

    @property
    def sliding_window_axis(self) -> int | None:
        """Position in `tile_sizes` of the axis of the sliding window, if any."""
        return next((position.data for position in self.sliding), None)

    @property
    def recomputed_values(self) -> tuple[int, ...]:
        """Indices of the values that are recomputed and have no sliding window."""
        return tuple(number.data for number in self.recompute)

    @property
    def has_prefetch(self) -> bool:
        """True if producers of sliding windows run one iteration ahead."""
        return self.prefetch_distance.data == 1

    @property
    def retained_results(self) -> tuple[int, ...]:
        """Indices of the results that are retained in the level."""
        return tuple(number.data for number in self.retain)

    @property
    def resident_operands(self) -> tuple[int, ...]:
        """Indices of the operands that are resident in the level."""
        return tuple(number.data for number in self.resident)

    @property
    def reloaded_operands(self) -> tuple[int, ...]:
        """Indices of the resident operands that are always reloaded."""
        return tuple(number.data for number in self.reload)

    def verify(self) -> None:
        if not LEVEL_NAME.fullmatch(self.level.data):
            raise VerifyException(
                f"expected a memory level such as L1, got {self.level.data}"
            )
        for size in (*self.tile_sizes, *self.reduce_sizes):
            if size < 1:
                raise VerifyException(f"expected sizes of at least 1, got {size}")
        if self.mapping.data not in list(Mapping):
            listed = ", ".join(Mapping)
            raise VerifyException(
                f"expected a mapping among {listed}, got {self.mapping.data}"
            )
        if sorted(self.loop_order) != list(range(len(self.tile))):
            raise VerifyException(
                f"expected an order of {len(self.tile)} loops, "
                f"got {list(self.loop_order)}"
            )
        if self.stage_count < 1:
            raise VerifyException(f"expected at least 1 stage, got {self.stage_count}")
        if self.reduce_stage_count < 1:
            raise VerifyException(
                f"expected at least 1 reduce stage, got {self.reduce_stage_count}"
            )
        if (warps := self.warps.data) < 0 or warps & (warps - 1):
            raise VerifyException(f"expected a power of two of warps, got {warps}")
        self._verify_unroll_factors()
        self._verify_sliding_window()
        if not set(self.reloaded_operands) <= set(self.resident_operands):
            raise VerifyException(
                "expected to reload operands that are resident, "
                f"{list(self.resident_operands)}, got {list(self.reloaded_operands)}"
            )

    def _verify_unroll_factors(self) -> None:
        """Verify that there is a positive factor for each loop, if there are any."""
        factors = self.unroll_factors
        if factors and len(factors) != len(self.tile):
            raise VerifyException(
                f"expected {len(self.tile)} unroll factors, got {len(factors)}"
            )
        if min(factors, default=1) < 1:
            raise VerifyException(
                f"expected unroll factors of at least 1, got {list(factors)}"
            )

    def _verify_sliding_window(self) -> None:
        """Verify the axis that tiles slide along, and settings that depend on it."""
        if len(self.sliding) > 1:
            raise VerifyException(
                f"expected one axis to slide along, got {len(self.sliding)}"
            )
        axis = self.sliding_window_axis
        if axis is not None and not 0 <= axis < len(self.tile):
            raise VerifyException(
                f"expected an axis below {len(self.tile)} to slide along, got {axis}"
            )
        if self.prefetch_distance.data not in ((0,) if axis is None else (0, 1)):
            wanted = (
                "sliding tiles for a prefetch distance"
                if axis is None
                else "a prefetch distance of 0 or 1"
            )
            raise VerifyException(
                f"expected {wanted}, got {self.prefetch_distance.data}"
            )
        if axis is not None and len(self.reduce):
            raise VerifyException(
                "expected reductions to run whole where tiles slide, got reduce sizes"
            )

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            level = parser.parse_identifier()
            sizes: dict[str, list[int]] = {name: [] for name in LIST_KEYS}
            mapping, reduce_stages = str(Mapping.LOOP), None
            counts = {"stages": 1, "prefetch_distance": 0, "warps": 0}
            while parser.parse_optional_punctuation(",") is not None:
                position = parser.pos
                match parser.parse_identifier():
                    case "mapping":
                        mapping = parser.parse_identifier()
                    case "reduce_stages":
                        reduce_stages = parser.parse_integer()
                    case key if key in counts:
                        counts[key] = parser.parse_integer()
                    case key if key in sizes:
                        sizes[key] = parser.parse_comma_separated_list(
                            parser.Delimiter.SQUARE, parser.parse_integer
                        )
                    case key:
                        _report_unknown_key(parser, key, position)
        return (
            StringAttr(level),
            _to_integer_array(sizes["tile"]),
            _to_integer_array(sizes["reduce"]),
            StringAttr(mapping),
            _to_integer_array(sizes["order"]),
            IntAttr(counts["stages"]),
            IntAttr(counts["stages"] if reduce_stages is None else reduce_stages),
            _to_integer_array(sizes["sliding"]),
            _to_integer_array(sizes["recompute"]),
            _to_integer_array(sizes["retain"]),
            _to_integer_array(sizes["resident"]),
            _to_integer_array(sizes["reload"]),
            IntAttr(counts["prefetch_distance"]),
            IntAttr(counts["warps"]),
            _to_integer_array(sizes["unroll"]),
        )

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.level.data}, tile {list(self.tile_sizes)}")
            if self.reduce_sizes:
                printer.print_string(f", reduce {list(self.reduce_sizes)}")
            printer.print_string(f", mapping {self.mapping.data}")
            if len(self.order):
                printer.print_string(f", order {list(self.loop_order)}")
            if self.stage_count != 1:
                printer.print_string(f", stages {self.stage_count}")
            if self.reduce_stage_count != self.stage_count:
                printer.print_string(f", reduce_stages {self.reduce_stage_count}")
            if self.warp_count is not None:
                printer.print_string(f", warps {self.warp_count}")
            if self.unroll_factors:
                printer.print_string(f", unroll {list(self.unroll_factors)}")
            if (axis := self.sliding_window_axis) is not None:
                printer.print_string(f", sliding [{axis}]")
            if self.prefetch_distance.data:
                printer.print_string(
                    f", prefetch_distance {self.prefetch_distance.data}"
                )
            if self.recomputed_values:
                printer.print_string(f", recompute {list(self.recomputed_values)}")
            if self.retained_results:
                printer.print_string(f", retain {list(self.retained_results)}")
            if self.resident_operands:
                printer.print_string(f", resident {list(self.resident_operands)}")
            if self.reloaded_operands:
                printer.print_string(f", reload {list(self.reloaded_operands)}")


def _report_unknown_key(parser: AttrParser, key: str, position: int) -> NoReturn:
    """Raise a parse error for a key that plans do not have, or that was renamed."""
    if key in PLAN_KEYS:
        parser.raise_error(f"{key} was renamed to {PLAN_KEYS[key]}", position)
    parser.raise_error(
        "expected tile, reduce, mapping, order, stages, "
        "reduce_stages, warps, unroll, sliding, prefetch_distance, recompute, "
        f"retain, resident or reload, got {key}",
        position,
    )
