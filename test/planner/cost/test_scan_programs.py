"""Scans in the model of a GPU: one program per row, which waits for every tile."""

import pytest
from gpu_programs import members, price

from tlf.analysis.tiling.group_analysis import tile_rules_of
from tlf.analysis.tiling.group_tiling import TilingError
from tlf.dialects.target import load_target_spec


def scan(rows: int, columns: int, axis: int = 1, element: str = "f32") -> str:
    type_ = f"tensor<{rows}x{columns}x{element}>"
    return (
        f"func.func @f(%x: {type_}) -> {type_} {{\n"
        f"%y = graph.cumulate %x <sum> axis {axis} : ({type_}) -> {type_}\n"
        f"func.return %y : {type_}\n}}"
    )


def test_a_program_computes_all_tiles_of_its_rows():
    assert price(scan(64, 4096), (2, 512)).program_count == 32
    assert price(scan(64, 4096, axis=0), (2, 512)).program_count == 8


def test_every_element_is_moved_once():
    for tile in (1, 1024), (2, 8192):
        found = price(scan(64, 8192), tile)
        assert found.outer_bytes == pytest.approx(2 * 4 * 64 * 8192, rel=0.01)


def test_few_rows_wait_for_each_tile():
    short, long = (price(scan(1, 1 << 20), (1, size)) for size in (1024, 8192))
    assert short.cycles > 2 * long.cycles
    many = price(scan(1 << 12, 1 << 12), (1, 1024))
    assert many.bottleneck == "memory"


def test_operand_and_result_are_in_registers():
    registers = [
        price(scan(64, 65536), (1, size)).resources.registers_per_thread
        for size in (2048, 4096, 8192)
    ]
    assert registers[1] - registers[0] == 2048 * 2 // 128
    assert registers[2] - registers[1] == 4096 * 2 // 128


def test_tiles_that_do_not_follow_each_other_are_illegal():
    whole, part = "tensor<4x64xf32>", "tensor<4x63xf32>"
    text = (
        f"func.func @f(%x: {whole}) -> {part} {{\n"
        f"%y = graph.cumulate %x <sum> axis 1 : ({whole}) -> {whole}\n"
        f"%z = graph.slice %y offsets [0, 1] strides [1, 1] : ({whole}) -> {part}\n"
        f"func.return %z : {part}\n}}"
    )
    rules = tile_rules_of(load_target_spec("h200"), "L1")
    with pytest.raises(TilingError, match="follow each other along the scan"):
        members(text)[1].analyze_tiles_of_sizes((4, 16), (), rules)
