"""Target descriptions: presets, files of users, and what is said of mistakes."""

import re
from pathlib import Path

import numpy as np
import pytest
from descriptions import LEVEL, chip, written
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, UnitAttr
from xdsl.utils.exceptions import DiagnosticException

from tlf.compiler.backends.backends import CompilingBackend
from tlf.compiler.driver.driver import new_context, parse_module
from tlf.compiler.driver.source import Source
from tlf.dialects.interpreters.interpret import interpret
from tlf.dialects.target import (
    LevelKind,
    TargetSpec,
    load_target_spec,
    parse_bytes,
    preset_names,
)
from tlf.lowering.pipelines import npu_pipeline

PROGRAM = """
func.func @f(%x: tensor<40x30xf32>, %w: tensor<30x20xf32>) -> tensor<40x20xf32> {
  %0 = graph.matmul %x, %w
      : (tensor<40x30xf32>, tensor<30x20xf32>) -> tensor<40x20xf32>
  %1 = graph.relu %0 : tensor<40x20xf32>
  func.return %1 : tensor<40x20xf32>
}
"""


def module_of(target: TargetSpec) -> ModuleOp:
    module = ModuleOp([])
    target.attach_to_module(module)
    return module


INDEXED = "burst = 32\nindexed_loads = true"


def test_indexed_loads(tmp_path: Path):
    assert load_target_spec("h200").has_indexed_loads
    assert not load_target_spec("npu").has_indexed_loads
    text = chip(1024, 2048).replace("burst = 32", INDEXED, 1)
    with pytest.raises(DiagnosticException, match="into a level of values, got L1"):
        load_target_spec(written(tmp_path, text))
    text = text.replace('kind = "buffer"', 'kind = "value"', 1)
    text = f'backend = "triton"\n{text.partition("[engines")[0]}'
    assert load_target_spec(written(tmp_path, text)).has_indexed_loads
    # The outermost of the levels that tiles are brought to decides.
    text = text.replace('kind = "buffer"', 'kind = "value"')
    text += LEVEL.format(number=3, capacity=4096)
    assert not load_target_spec(written(tmp_path, text)).has_indexed_loads


def test_sorts(tmp_path: Path):
    assert load_target_spec("h200").sortable_extent == 4096
    assert load_target_spec("npu").sortable_extent == 0
    text = chip(1024, 2048).replace("burst = 32", "burst = 32\nsorts = 64", 1)
    with pytest.raises(DiagnosticException, match="expected sorts in a level of val"):
        load_target_spec(written(tmp_path, text))


def test_scans(tmp_path: Path):
    assert load_target_spec("h200").has_scans
    assert not load_target_spec("npu").has_scans
    text = chip(1024, 2048).replace("burst = 32", "burst = 32\nscans = true", 1)
    with pytest.raises(DiagnosticException, match="in a level of values, got L1 of"):
        load_target_spec(written(tmp_path, text))


def test_indexed_rows(tmp_path: Path):
    text = chip(1024, 2048)
    assert load_target_spec(written(tmp_path, text)).indexed_row_cycles is None
    near = text.replace("burst = 32", "burst = 32\nindexed_row = 5", 1)
    assert load_target_spec(written(tmp_path, near)).indexed_row_cycles == 5
    value = near.replace('kind = "buffer"', 'kind = "value"', 1)
    with pytest.raises(DiagnosticException, match="of a level of buffers, got L1 of"):
        load_target_spec(written(tmp_path, value))
    far = "burst = 32\nindexed_row = 5".join(text.rsplit("burst = 32", 1))
    with pytest.raises(DiagnosticException, match="of the outermost level, got L2"):
        load_target_spec(written(tmp_path, far))


@pytest.mark.parametrize("name", preset_names())
def test_presets(name: str):
    target = load_target_spec(name)
    assert target.name == name
    assert list(target.levels) in (["L1", "L2", "L3"], ["L1", "L3"])
    assert target.outermost_level.name == "L3"
    assert target.outermost_level.shared
    assert all(level.kind in set(LevelKind) for level in target.levels.values())
    capacities = [level.capacity for level in target.levels.values()]
    assert capacities == sorted(capacities)


def test_levels_that_tiles_are_brought_to():
    assert [each.name for each in load_target_spec("npu").tile_levels] == ["L2", "L1"]
    assert [each.name for each in load_target_spec("h200").tile_levels] == ["L1"]


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
        load_target_spec(written(tmp_path, f"{head}{far}{tail}"))


def test_cores_by_the_name():
    target = load_target_spec("npu:L2=512K,cores=4")
    assert (target.cores, target.levels["L2"].capacity) == (4, 512 << 10)
    assert load_target_spec("npu-4core:cores=1").cores == 1
    with pytest.raises(DiagnosticException) as found:
        load_target_spec("npu:cores=0")
    assert str(found.value) == (
        "target `npu:cores=0`: expected a whole number of cores from 1 to 256, got `0`"
    )
    with pytest.raises(DiagnosticException, match="from 1 to 256, got `100000`"):
        load_target_spec("npu:cores=100000")
    with pytest.raises(DiagnosticException, match="expected cores of the backend npu"):
        load_target_spec("h200:cores=2")


def test_a_channel_of_a_core(tmp_path: Path):
    near = 'burst = 32\nscope = "core"\nshared = true'
    text = chip(1024, 2048).replace("burst = 32", near, 1)
    assert load_target_spec(written(tmp_path, text)).cores == 1
    with pytest.raises(DiagnosticException, match="expected no channel of L1"):
        load_target_spec(written(tmp_path, "cores = 4\n" + text))


@pytest.mark.parametrize("name", preset_names())
def test_a_target_travels_with_its_module(name: str):
    target = load_target_spec(name)
    text = str(module_of(target))
    module = parse_module(new_context(), Source(text, "program.mlir"))
    assert TargetSpec.read_from_module(module) == target


def test_a_module_without_a_target():
    with pytest.raises(DiagnosticException, match="got none: pass `--target`"):
        TargetSpec.read_from_module(ModuleOp([]))


def test_an_attribute_that_no_description_has():
    module = ModuleOp([])
    levels = ArrayAttr([UnitAttr()])
    module.attributes["tlf.target"] = DictionaryAttr({"levels": levels})
    with pytest.raises(DiagnosticException, match="target: unexpected attribute"):
        TargetSpec.read_from_module(module)


def test_a_mistake_in_the_description_of_a_module():
    attribute = DictionaryAttr({"levels": ArrayAttr([])})
    module = ModuleOp([], {"tlf.target": attribute})
    with pytest.raises(DiagnosticException, match=r"^target: expected an array of"):
        TargetSpec.read_from_module(module)


def test_a_file_that_is_no_text(tmp_path: Path):
    path = tmp_path / "chip.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(DiagnosticException, match="can't decode byte 0xff"):
        load_target_spec(str(path))


def test_a_file_that_is_not_there(tmp_path: Path):
    with pytest.raises(DiagnosticException, match="No such file or directory"):
        load_target_spec(str(tmp_path / "chip.toml"))


def test_a_name_that_is_no_preset():
    with pytest.raises(DiagnosticException) as found:
        load_target_spec("tpu")
    known = "bm1684x-like, h200, npu, npu-4core, npu-tiny, u85-like, triton"
    hint = ", did you mean `npu`?"
    expected = f"expected a target ({known}) or a `.toml` file, got `tpu`{hint}"
    assert str(found.value) == expected


@pytest.mark.usefixtures("first_plans")
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
    target = load_target_spec(written(tmp_path, chip(*capacities)))
    context = new_context()
    module = parse_module(context, Source(PROGRAM, "program.mlir"))
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
    assert parse_bytes(text) == size


@pytest.mark.parametrize("text", ["", "K", "1.5M", "-1", "3KB", "3k", "1 K"])
def test_wrong_sizes(text: str):
    message = f"expected a size such as 512K, got `{text}`"
    with pytest.raises(DiagnosticException, match=re.escape(message)):
        parse_bytes(text)


def test_no_size():
    with pytest.raises(DiagnosticException, match="expected a size above 0, got `0K`"):
        parse_bytes("0K")
    with pytest.raises(
        DiagnosticException, match="9,223,372,036,854,775,807 bytes, got"
    ):
        parse_bytes("8388608T")


def test_capacities_after_the_name(tmp_path: Path):
    """All else stays, and the module says the new size."""
    target = load_target_spec("npu:L2=512K,L3=64G")
    assert target.levels["L2"].capacity == 512 << 10
    assert target.levels["L3"].capacity == 64 << 30
    assert target.levels["L1"] == load_target_spec("npu").levels["L1"]
    assert target.engines == load_target_spec("npu").engines
    assert TargetSpec.read_from_module(module_of(target)) == target
    assert load_target_spec("npu:L2=16M") == load_target_spec("npu")
    path = written(tmp_path, chip(4096, 65536))
    assert load_target_spec(f"{path}:L1=1M").levels["L1"].capacity == 1 << 20


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
        load_target_spec(name)
