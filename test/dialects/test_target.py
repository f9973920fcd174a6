"""Target descriptions: presets, files of users, and what is said of mistakes."""

import re
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, UnitAttr
from xdsl.utils.exceptions import DiagnosticException

from tlf.dialects.interpreters.run import interpret
from tlf.dialects.target import (
    DescriptionError,
    LevelKind,
    Target,
    bytes_of,
    load,
    presets,
)
from tlf.dialects.target.description import PRESETS
from tlf.dialects.target.sizes import MOST_BYTES
from tlf.lowering.pipelines import npu_pipeline
from tlf.tools.backends import CompilingBackend
from tlf.tools.driver import new_context, parse
from tlf.tools.source import Source

PROGRAM = """
func.func @f(%x: tensor<40x30xf32>, %w: tensor<30x20xf32>) -> tensor<40x20xf32> {
  %0 = graph.matmul %x, %w
      : (tensor<40x30xf32>, tensor<30x20xf32>) -> tensor<40x20xf32>
  %1 = graph.relu %0 : tensor<40x20xf32>
  func.return %1 : tensor<40x20xf32>
}
"""

LEVEL = """
[[levels]]
name = "L{number}"
kind = "buffer"
capacity = {capacity}
bandwidth = 64
latency = {number}
burst = 32
alignment = 32
"""

ENGINES = """
[engines.matrix]
rows = 4
cols = 4
startup = 2
cycles = { f32 = 1 }

[engines.vector]
lanes = 16
transcendental = 2
startup = 1
"""


def chip(*capacities: int, head: str = 'name = "mine"', tail: str = ENGINES) -> str:
    """The description of an NPU with levels of some capacities, from L1 on."""
    levels = [
        LEVEL.format(number=number, capacity=capacity)
        for number, capacity in enumerate(capacities, 1)
    ]
    return "\n".join([head, *levels, tail])


def written(folder: Path, text: str) -> str:
    """The name of a file with a description."""
    path = folder / "chip.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def module_of(target: Target) -> ModuleOp:
    module = ModuleOp([])
    target.attach(module)
    return module


INDEXED = "burst = 32\nindexed_loads = true"


def test_indexed_loads(tmp_path: Path):
    assert load("h200").indexed_loads
    assert not load("npu").indexed_loads
    text = chip(1024, 2048).replace("burst = 32", INDEXED, 1)
    with pytest.raises(DiagnosticException, match="into a level of values, got L1"):
        load(written(tmp_path, text))
    text = text.replace('kind = "buffer"', 'kind = "value"', 1)
    text = f'backend = "triton"\n{text.partition("[engines")[0]}'
    assert load(written(tmp_path, text)).indexed_loads
    # The outermost of the levels that tiles are brought to decides.
    text = text.replace('kind = "buffer"', 'kind = "value"')
    text += LEVEL.format(number=3, capacity=4096)
    assert not load(written(tmp_path, text)).indexed_loads


@pytest.mark.parametrize("name", presets())
def test_presets(name: str):
    target = load(name)
    assert target.name == name
    assert list(target.levels) in (["L1", "L2", "L3"], ["L1", "L3"])
    assert target.outermost.name == "L3"
    assert target.outermost.shared
    assert all(level.kind in set(LevelKind) for level in target.levels.values())
    capacities = [level.capacity for level in target.levels.values()]
    assert capacities == sorted(capacities)


def test_levels_that_tiles_are_brought_to():
    assert [each.name for each in load("npu").tile_levels] == ["L2", "L1"]
    assert [each.name for each in load("h200").tile_levels] == ["L1"]


@pytest.mark.parametrize(
    ("scopes", "message"),
    [
        (("chip", "chip"), "expected levels of the scope core, then of the scope chip"),
        (("chip", "core"), "where there are 4 cores, got chip, core"),
        (("core", "core"), "expected a last level of the scope chip, got core"),
    ],
)
def test_scopes_of_levels(tmp_path: Path, scopes: tuple[str, str], message: str):
    text = "cores = 4\n" + chip(1024, 2048)
    near, far = (f'burst = 32\nscope = "{scope}"' for scope in scopes)
    text = near.join(text.split("burst = 32", 1))
    head, tail = text.rsplit("burst = 32", 1)
    with pytest.raises(DiagnosticException, match=message):
        load(written(tmp_path, f"{head}{far}{tail}"))


def test_cores_by_the_name():
    target = load("npu:L2=512K,cores=4")
    assert (target.cores, target.levels["L2"].capacity) == (4, 512 << 10)
    assert load("npu-4core:cores=1").cores == 1
    with pytest.raises(DiagnosticException) as found:
        load("npu:cores=0")
    assert str(found.value) == (
        "target `npu:cores=0`: expected a whole number of cores from 1 to 256, got `0`"
    )
    with pytest.raises(DiagnosticException, match="from 1 to 256, got `100000`"):
        load("npu:cores=100000")
    with pytest.raises(DiagnosticException, match="expected cores of the backend npu"):
        load("h200:cores=2")


def test_a_channel_of_a_core(tmp_path: Path):
    near = 'burst = 32\nscope = "core"\nshared = true'
    text = chip(1024, 2048).replace("burst = 32", near, 1)
    assert load(written(tmp_path, text)).cores == 1
    with pytest.raises(DiagnosticException, match="expected no channel of L1"):
        load(written(tmp_path, "cores = 4\n" + text))


@pytest.mark.parametrize("name", presets())
def test_a_target_travels_with_its_module(name: str):
    target = load(name)
    text = str(module_of(target))
    module = parse(new_context(), Source(text, "program.mlir"))
    assert Target.of(module) == target


def test_a_module_without_a_target():
    with pytest.raises(DiagnosticException, match="got none: pass `--target`"):
        Target.of(ModuleOp([]))


def test_an_attribute_that_no_description_has():
    module = ModuleOp([])
    levels = ArrayAttr([UnitAttr()])
    module.attributes["tlf.target"] = DictionaryAttr({"levels": levels})
    with pytest.raises(DiagnosticException, match="target: unexpected attribute"):
        Target.of(module)


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
            f"6:12: error: expected an integer from 1 to {MOST_BYTES} for "
            "`levels[0].capacity`, got `8k`",
        ),
        (
            chip(64).replace("capacity = 64", "capacity = -1"),
            f"6:12: error: expected an integer from 1 to {MOST_BYTES} for "
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
        load(name)
    assert str(found.value) == f"{name}:{message}"


def test_a_mistake_in_the_description_of_a_module():
    attribute = DictionaryAttr({"levels": ArrayAttr([])})
    module = ModuleOp([], {"tlf.target": attribute})
    with pytest.raises(DiagnosticException, match=r"^target: expected an array of"):
        Target.of(module)


CHIP = chip(4096, 1 << 16, 1 << 20)


@pytest.mark.parametrize(
    ("old", "new", "at", "message"),
    [
        ('"L2"', '"L4"', '"L3"', r"to the farthest, got L3 behind L4"),
        ('"L1"', '"L2"', '"L2"\nkind = "buffer"\ncapacity = 65536', r"L2, L2, L3"),
        ("ment = 32", "ment = 3", "3\n\n", r"L1 that is a power of two, got 3"),
        ("ment = 32", "ment = 8192", "8192", r"within its 4096 bytes, got 8192"),
        ('"buffer"', '"value"', '"value"', r"the kind buffer for the backend npu"),
        ('"buffer"', '"cache"', '"cache"', r"got L1 of the kind cache"),
        ("name", 'backend = "triton"\nname', '"buffer"', r"value for the backend tri"),
        ("s.vector]", "s.victor]", "[engines.victor", r"unknown key `victor`"),
        ("rows = 4", "rows = 0", "0\ncols", r"for `engines.matrix.rows`, got `0`"),
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
    assert load(written(tmp_path, CHIP)).outermost.name == "L3"
    name = written(tmp_path, text := CHIP.replace(old, new, 1))
    before = text[: text.index(at)].split("\n")
    place = f"{re.escape(name)}:{len(before)}:{len(before[-1]) + 1}"
    with pytest.raises(DescriptionError, match=rf"^{place}: error: .*{message}"):
        load(name)


def test_a_chip_without_what_programs_need(tmp_path: Path):
    near = CHIP.split("[[levels]]")[1]
    name = written(tmp_path, f"[[levels]]\n{near}{ENGINES}")
    with pytest.raises(DescriptionError, match=r":1:1: error: expected at least 2 lev"):
        load(name)
    name = written(tmp_path, CHIP.partition("[engines.vector]")[0])
    with pytest.raises(
        DescriptionError, match=r":33:1: .* a key `vector` of `engines`"
    ):
        load(name)


def test_a_function_that_there_is_not(tmp_path: Path):
    text = (PRESETS / "h200.toml").read_text(encoding="utf-8")
    name = written(tmp_path, text.replace("rsqrt = 1, sqrt", "rsqt = 1, sqrt", 1))
    with pytest.raises(DescriptionError, match=r"unknown key `rsqt`.*mean `rsqrt`"):
        load(name)


def test_a_file_that_is_no_text(tmp_path: Path):
    path = tmp_path / "chip.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(DiagnosticException, match="can't decode byte 0xff"):
        load(str(path))


def test_a_file_that_is_not_there(tmp_path: Path):
    with pytest.raises(DiagnosticException, match="No such file or directory"):
        load(str(tmp_path / "chip.toml"))


def test_a_name_that_is_no_preset():
    with pytest.raises(DiagnosticException) as found:
        load("tpu")
    known = "bm1684x-like, h200, npu, npu-4core, npu-tiny, u85-like, triton"
    expected = f"expected a target ({known}) or a `.toml` file, got `tpu`"
    assert str(found.value) == expected


@pytest.mark.parametrize(
    ("capacities", "passes"),
    [
        ((2000, 1 << 20), None),
        ((2000, 12000, 1 << 20), None),
        ((1500, 4000, 12000, 1 << 20), None),
        ((1500, 4000, 1 << 20), npu_pipeline(["L2", "L1"])),
    ],
)
def test_a_chip_of_the_user(
    tmp_path: Path, capacities: tuple[int, ...], passes: str | None
):
    """A program runs on a chip that only its description knows, and uses its levels."""
    target = load(written(tmp_path, chip(*capacities)))
    context = new_context()
    module = parse(context, Source(PROGRAM, "program.mlir"))
    rng = np.random.default_rng(0)
    x = rng.standard_normal((40, 30), np.float32)
    w = rng.standard_normal((30, 20), np.float32)
    inputs = {"x": x, "w": w}
    (reference,) = interpret(module, inputs)
    backend = CompilingBackend(target, None, tmp_path, passes)
    signature = backend.lower(context, module)
    outcome = backend.build(context, module, signature)(inputs)
    (found,) = outcome.results.values()
    expected = np.maximum(x.astype(float) @ w.astype(float), 0)
    for each in (found, reference):
        np.testing.assert_allclose(each.astype(float), expected, rtol=1e-5, atol=1e-5)
    program = outcome.artifacts["program.npu"]
    for number, capacity in enumerate(capacities, 1):
        assert re.search(rf"\.level L{number} .*capacity={capacity} ", program)
    for number in range(1, len(capacities)):
        assert f"dst=L{number}[" in program
        assert f"dma_l{number}_l{number + 1} dst=L{number + 1}[" in program


@pytest.mark.parametrize(
    ("text", "size"),
    [("1", 1), ("512K", 1 << 19), ("16MiB", 1 << 24), ("3G", 3 << 30), ("2T", 2 << 40)],
)
def test_sizes(text: str, size: int):
    assert bytes_of(text) == size


@pytest.mark.parametrize("text", ["", "K", "1.5M", "-1", "3KB", "3k", "1 K"])
def test_wrong_sizes(text: str):
    message = f"expected a size such as 512K, got `{text}`"
    with pytest.raises(DiagnosticException, match=re.escape(message)):
        bytes_of(text)


def test_no_size():
    with pytest.raises(DiagnosticException, match="expected a size above 0, got `0K`"):
        bytes_of("0K")
    with pytest.raises(
        DiagnosticException, match="9,223,372,036,854,775,807 bytes, got"
    ):
        bytes_of("8388608T")


def test_capacities_after_the_name(tmp_path: Path):
    """All else stays, and the module says the new size."""
    target = load("npu:L2=512K,L3=64G")
    assert target.levels["L2"].capacity == 512 << 10
    assert target.levels["L3"].capacity == 64 << 30
    assert target.levels["L1"] == load("npu").levels["L1"]
    assert target.engines == load("npu").engines
    assert Target.of(module_of(target)) == target
    assert load("npu:L2=16M") == load("npu")
    path = written(tmp_path, chip(4096, 65536))
    assert load(f"{path}:L1=1M").levels["L1"].capacity == 1 << 20


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("npu:L4=1K", "expected a level among L1, L2, L3 of npu, got L4"),
        (
            "npu:L2=much",
            "target `npu:L2=much`: expected a size such as 512K, got `much`",
        ),
        (
            "npu:L2",
            "expected capacities of levels or `cores` behind `npu:`, such as "
            "`L2=512K`, got `L2`",
        ),
    ],
)
def test_wrong_capacities(name: str, message: str):
    with pytest.raises(DiagnosticException, match=re.escape(message)):
        load(name)
