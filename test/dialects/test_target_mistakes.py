"""Messages on mistakes in target descriptions, and their locations."""

import re
from pathlib import Path

import pytest
from descriptions import ENGINES, chip, written

from tlf.dialects.target import DescriptionError, load_target_spec
from tlf.dialects.target.description import PRESETS
from tlf.dialects.target.setting_parsing import MAX_BYTES


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            chip(64, 128).replace("burst", "burts"),
            "9:1: error: unknown key `burts` of `levels[0]`, did you mean `burst`?",
        ),
        (
            chip(64, 128, tail="[tiling]\npower_of_to = true"),
            "23:1: error: unknown key `power_of_to` of `tiling`, did you mean "
            "`power_of_two`?",
        ),
        (
            chip(64, 128, tail="[engines.tensor]\nrows = 1"),
            "22:1: error: unknown key `tensor` of `engines`, expected one of `vector`, "
            "`matrix`",
        ),
        (
            chip(64).replace("latency = 1\n", ""),
            "3:1: error: expected a key `latency` of `levels[0]`, got none",
        ),
        (
            chip(64, 128).replace('"buffer"', '"bufer"'),
            "5:8: error: expected one of `buffer`, `value`, `cache` for "
            "`levels[0].kind`, got `bufer`",
        ),
        (
            chip(64, head='backend = "gpu"'),
            "1:11: error: expected one of `npu`, `triton` for `backend`, got `gpu`",
        ),
        (chip(), "1:1: error: expected a key `levels`, got none"),
        (
            "levels = []",
            "1:10: error: expected an array of at least 1 items for `levels`, got an "
            "array of 0",
        ),
        (
            'levels = "L1"',
            "1:10: error: expected an array of at least 1 items for `levels`, got `L1`",
        ),
        ("levels = [1, 2]", "1:11: error: expected a table for `levels[0]`, got `1`"),
        (
            chip(64).replace("capacity = 64", 'capacity = "8k"'),
            f"6:12: error: expected an integer from 1 to {MAX_BYTES} for "
            "`levels[0].capacity`, got `8k`",
        ),
        (
            chip(64).replace("capacity = 64", "capacity = -1"),
            f"6:12: error: expected an integer from 1 to {MAX_BYTES} for "
            "`levels[0].capacity`, got `-1`",
        ),
        (
            chip(64).replace('"L1"', '"near"'),
            "4:8: error: expected a string that matches `^L[1-9][0-9]*$` for "
            "`levels[0].name`, got `near`",
        ),
        (
            chip(64, 128).replace('"L2"', '"L1"'),
            "14:8: error: expected levels of different names, got L1, L1",
        ),
        (
            chip(64, tail="[tiling]\nmatrix_tile = 3"),
            "13:15: error: expected a table for `tiling.matrix_tile`, got `3`",
        ),
        ("levels = = 3", "1:10: error: invalid value"),
        ("levels = [", "1:11: error: invalid value"),
        ("a = 1\na = 2", "2:6: error: cannot overwrite a value"),
    ],
)
def test_mistakes_in_a_description(tmp_path: Path, text: str, message: str):
    name = written(tmp_path, text)
    with pytest.raises(DescriptionError) as found:
        load_target_spec(name)
    assert str(found.value) == f"{name}:{message}"


@pytest.mark.parametrize("text", [f"a = {'1' * 5000}", f"a = {'[' * 5000}", "a = {"])
def test_texts_that_cannot_be_read(tmp_path: Path, text: str):
    name = written(tmp_path, text)
    place = f"{re.escape(name)}:1:{len(text) + 1}"
    with pytest.raises(DescriptionError, match=rf"^{place}: error: [a-z]"):
        load_target_spec(name)


CHIP = chip(4096, 1 << 16, 1 << 20)


@pytest.mark.parametrize(
    ("old", "new", "at", "message"),
    [
        ('"L2"', '"L4"', '"L3"', r"to the outermost, got L3 after L4"),
        ('"L1"', '"L2"', '"L2"\nkind = "buffer"\ncapacity = 65536', r"L2, L2, L3"),
        ("ment = 32", "ment = 3", "3\n\n", r"L1 that is a power of two, got 3"),
        ('"buffer"', '"value"', '"value"', r"the kind buffer for the backend npu"),
        ('"buffer"', '"cache"', '"cache"', r"got L1 of the kind cache"),
        ("name", 'backend = "triton"\nname', '"buffer"', r"value for the backend tri"),
        ("s.vector]", "s.victor]", "[engines.victor", r"unknown key `victor`"),
        ("rows = 4", "rows = 0", "0\ncols", r"for `engines.matrix.rows`, got `0`"),
        ("lanes = 16", "lanes = 0", "0\n", r"for `engines.vector.lanes`, got `0`"),
        ("startup = 1", "startup = -1", "-1", r"`engines.vector.startup`, got `-1`"),
        ("name", "clock_ghz = 0\nname", "0\n", r"for `clock_ghz`, got `0`"),
        ("s.vector]", "s.matrix2]", "[engines.matrix2", r"unknown key `matrix2`"),
        ("{ f32 = 1 }", "{ f23 = 1 }", "f23", r"unknown key `f23` .*`f32`"),
        ("{ f32 = 1 }", "{}", "{}", r"expected a table with a key"),
        ("startup = 1", "steps = 1", "steps", r"unknown key `steps`"),
        ("name", "clock_ghz = inf\nname", "inf", r"from 1e-06 to 1e\+09 .*`inf`"),
        ("name", "gpu = 3\nname", "3\n", r"expected a table for `gpu`"),
        ("name", "cores = 4\nname", "4\n", r"scope core, then"),
    ],
)
def test_what_does_not_go_together(
    tmp_path: Path, old: str, new: str, at: str, message: str
):
    assert load_target_spec(written(tmp_path, CHIP)).outermost_level.name == "L3"
    name = written(tmp_path, text := CHIP.replace(old, new, 1))
    before = text[: text.index(at)].split("\n")
    place = f"{re.escape(name)}:{len(before)}:{len(before[-1]) + 1}"
    with pytest.raises(DescriptionError, match=rf"^{place}: error: .*{message}"):
        load_target_spec(name)


def test_a_chip_without_what_programs_need(tmp_path: Path):
    near = CHIP.split("[[levels]]")[1]
    name = written(tmp_path, f"[[levels]]\n{near}{ENGINES}")
    with pytest.raises(DescriptionError, match=r":1:1: error: expected at least 2 lev"):
        load_target_spec(name)
    name = written(tmp_path, CHIP.partition("[engines.vector]")[0])
    with pytest.raises(
        DescriptionError, match=r":33:1: .* a key `vector` of `engines`"
    ):
        load_target_spec(name)


def test_a_function_that_there_is_not(tmp_path: Path):
    text = (PRESETS / "h200.toml").read_text(encoding="utf-8")
    name = written(tmp_path, text.replace("rsqrt = 1, sqrt", "rsqt = 1, sqrt", 1))
    with pytest.raises(DescriptionError, match=r"unknown key `rsqt`.*mean `rsqrt`"):
        load_target_spec(name)
