"""The workloads of `bench/zoo.py` are what they say, compile and compute the same."""

import re
from io import StringIO
from math import prod
from time import process_time

import pytest
import zoo
from lower_bounds import optimise_function
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

from tlf.analysis.bounds.lower_bounds import lower_bounds_of
from tlf.compiler.driver.driver import new_context, parse_module
from tlf.compiler.driver.module_verifier import verify_module
from tlf.compiler.driver.source import Source
from tlf.dialects.parameter_attribute import is_parameter
from tlf.dialects.target import load_target_spec
from tlf.dialects.types import tensor_type
from tlf.tools import tlf_run

LEARNT = {
    "resnet18": 11_689_512,
    "resnet50": 25_557_032,
    "mobilenet-v2": 3_504_872,
}
"""Parameters that training changes, as the models of torchvision count them."""

RUNS = [(name, "npu-tiny") for name in zoo.WORKLOADS] + [("bottleneck", "npu")]


def text_of(module: ModuleOp) -> str:
    stream = StringIO()
    Printer(stream).print_op(module)
    return stream.getvalue()


def number(text: str, pattern: str) -> int:
    found = re.search(pattern, text, re.MULTILINE)
    assert found is not None
    return int(found[1].replace(",", ""))


def function_of(module: ModuleOp) -> func.FuncOp:
    (function,) = module.ops
    assert isinstance(function, func.FuncOp)
    return function


@pytest.mark.parametrize("name", zoo.WORKLOADS)
def test_builds_in_every_element_type(name: str):
    workload = zoo.WORKLOADS[name]

    for dtype in workload.dtypes:
        module = workload.small_module(dtype)
        verify_module(module)
        assert len(function_of(module).function_type.outputs) >= 1


@pytest.mark.parametrize("name", zoo.WORKLOADS)
def test_text_reads_back(name: str):
    text = text_of(zoo.WORKLOADS[name].small_module())

    module = parse_module(new_context(), Source(text, "zoo.mlir"))
    verify_module(module)
    assert text_of(module) == text


@pytest.mark.usefixtures("first_plans")
@pytest.mark.one_in(24)
@pytest.mark.parametrize(("name", "target"), RUNS)
def test_agrees_with_the_reference_and_beats_no_bound(
    name: str,
    target: str,
    tmp_path_factory: pytest.TempPathFactory,
    capsys: pytest.CaptureFixture[str],
):
    file = tmp_path_factory.mktemp("zoo") / f"{name}.mlir"
    file.write_text(text_of(zoo.WORKLOADS[name].small_module()))

    tlf_run.main([str(file), "--target", target, "--check"])

    printed = capsys.readouterr().out
    assert ": ok" in printed
    bounds = lower_bounds_of(
        optimise_function(zoo.WORKLOADS[name].small_module()), load_target_spec(target)
    )
    assert bounds.cycles_quantised <= number(printed, r"^cycles +([\d,]+)")
    read = number(printed, r"^L3 bytes +([\d,]+) read")
    written = number(printed, r"^L3 bytes .* ([\d,]+) written")
    assert bounds.payload_bytes <= read + written


@pytest.mark.parametrize("name", LEARNT)
def test_networks_have_the_parameters_of_their_papers(name: str):
    function = function_of(zoo.WORKLOADS[name].module())
    counted = sum(
        prod(tensor_type(value).get_shape())
        for value in function.body.block.args
        if is_parameter(value)
        and not (value.name_hint or "").endswith((".mean", ".variance"))
    )

    assert counted == LEARNT[name]


def test_resnet50_is_built_in_a_second():
    times: list[float] = []
    for _ in range(2):
        start = process_time()
        zoo.WORKLOADS["resnet50"].module()
        times.append(process_time() - start)

    assert min(times) < 1


@pytest.mark.parametrize("name", ["random-tree", "random-dag"])
@pytest.mark.parametrize("seed", range(4))
def test_random_graphs_follow_their_seed(name: str, seed: int):
    workload = zoo.WORKLOADS[name]
    text = text_of(workload.module(20, divisor=16, dtype="f32", seed=seed))

    assert text == text_of(workload.module(20, divisor=16, dtype="f32", seed=seed))
    other = text_of(workload.module(20, divisor=16, dtype="f32", seed=seed + 1))
    assert text != other


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bottlenek"], "expected one of bottleneck, "),
        (["resnet18", "--dtype", "f64"], "expected an element type among f16, "),
        (["resnet18", "--size", "0"], "expected a size of at least 1, got 0"),
        (["unet", "--size", "9"], "expected sizes that fit, got 9 and divisor 1: "),
        (["mbconv", "--dtype", "i8"], "expected an element type among f16, bf16, f32"),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
):
    assert zoo.main(arguments) == 1

    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"zoo: error: {message}")
    assert captured.err.count("\n") == 1


def test_prints_a_program_and_the_list(capsys: pytest.CaptureFixture[str]):
    assert zoo.main(["bottleneck", "--size", "8", "--dtype", "f32"]) == 0
    printed = capsys.readouterr().out
    verify_module(parse_module(new_context(), Source(printed, "zoo.mlir")))
    assert "tensor<1x256x8x8xf32>" in printed

    assert zoo.main(["--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(
        zoo.WORKLOADS
    )
