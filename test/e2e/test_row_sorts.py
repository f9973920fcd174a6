"""
Sorts of rows in tiles, on GPUs: at every stage bit for bit those of the reference, with
equal elements, NaN, infinities, zeros of both signs and limits of integers.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from differential import parsed
from every_stage import check
from indexed_programs import DTYPES, shaped
from slow_chips import slow_chip

from tlf.compiler.driver.pass_manager import PassManager
from tlf.dialects import graph
from tlf.dialects.target import load_target_spec
from tlf.passes.graph.graph_decompose import GraphDecomposePass


@dataclass(frozen=True)
class Sort:
    """Sort: its shape and axis, the number of results, and its direction."""

    shape: tuple[int, ...]
    axis: int
    count: int
    is_descending: bool = False
    element: str = "f32"

    @property
    def text(self) -> str:
        """Program with only this operation."""
        results = (*self.shape[: self.axis], self.count, *self.shape[self.axis + 1 :])
        types = shaped(results, self.element), shaped(results, "i64")
        operand = shaped(self.shape, self.element)
        direction = "descending" if self.is_descending else ""
        return f"""
func.func @main(%x: {operand}) -> ({types[0]}, {types[1]}) {{
  %v, %i = graph.sort %x axis {self.axis} {direction}
      : ({operand}) -> ({types[0]}, {types[1]})
  func.return %v, %i : {types[0]}, {types[1]}
}}"""

    def inputs(self) -> dict[str, np.ndarray]:
        """Return few different values, among them the extreme ones."""
        rng, dtype = np.random.default_rng(4), DTYPES[self.element]
        if dtype.kind == "i":
            limits = np.iinfo(dtype.name)
            numbers = np.array([limits.min, limits.max, *range(-9, 9)], dtype)
            return {"x": rng.choice(numbers, self.shape)}
        special = [np.nan, -np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-40, -1e-40]
        numbers = np.array([*special, *(rng.standard_normal(20))])
        return {"x": rng.choice(numbers, self.shape).astype(dtype)}


SORTS = [
    Sort((5, 100), 1, 100),
    Sort((5, 64), 1, 64, True),
    Sort((60,), 0, 60, True),
    Sort((63, 3), 0, 63),
    Sort((2, 60, 3), 1, 60, True),
    Sort((3, 2, 65), 2, 5, True),
    Sort((3, 70), 1, 1),
    Sort((150, 60), 1, 8, True),
]


def is_sorted_in_tiles(sort: Sort, chip: str) -> bool:
    """Return `True` if rows are not compared pair by pair."""
    context, module = parsed(sort.text)
    load_target_spec(chip).attach_to_module(module)
    PassManager([GraphDecomposePass()]).run(context, module)
    return any(isinstance(op, graph.SortOp) for op in module.walk())


@pytest.mark.one_in(2)
@pytest.mark.parametrize("sort", SORTS, ids=str)
def test_shapes_and_axes(sort: Sort, tmp_path: Path):
    chip = slow_chip(tmp_path)("h200")
    assert is_sorted_in_tiles(sort, chip)
    check(sort.text, sort.inputs(), chip)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "sort",
    [
        Sort((130,), 0, 16, False, "i8"),
        Sort((3, 200), 1, 5, True),
        Sort((3, 200), 1, 5),
        Sort((2, 150, 3), 1, 1, True, "f16"),
        Sort((2, 1300), 1, 2),
    ],
    ids=str,
)
def test_long_rows(sort: Sort, tmp_path: Path):
    """First elements of rows that are longer than a tile, in one or several steps."""
    chip = slow_chip(tmp_path)("h200", sorts=64)
    assert is_sorted_in_tiles(sort, chip)
    check(sort.text, sort.inputs(), chip)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("is_descending", [False, True])
@pytest.mark.parametrize("element", ["f16", "bf16", "i32", "i8"])
@pytest.mark.parametrize("count", [60, 4])
def test_element_types(element: str, count: int, is_descending: bool, tmp_path: Path):
    sort = Sort((3, 60), 1, count, is_descending, element)
    chip = slow_chip(tmp_path)("h200")
    assert is_sorted_in_tiles(sort, chip)
    check(sort.text, sort.inputs(), chip)


@pytest.mark.parametrize(
    ("sort", "is_network"),
    [
        (Sort((4096, 1000), 1, 1000), True),
        (Sort((4096, 4096), 1, 8), True),
        (Sort((4096, 8), 1, 8), False),
        (Sort((2, 40), 1, 40), False),
        (Sort((4, 128256), 1, 50, True), True),
        (Sort((4096, 5000), 1, 3000), False),
        (Sort((4096, 1000), 1, 1000, element="i64"), False),
    ],
    ids=str,
)
def test_networks_are_chosen_where_they_are_faster(sort: Sort, is_network: bool):
    assert is_sorted_in_tiles(sort, "h200") == is_network
