"""
Fixtures that run `mem` programs: interpreted, and on the simulated NPU.
"""

import tomllib
from collections.abc import Callable, Sequence
from io import StringIO

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects import get_all_dialects as get_xdsl_dialects
from xdsl.dialects.builtin import ModuleOp
from xdsl.interpreter import Interpreter
from xdsl.interpreters.func import FuncFunctions
from xdsl.parser import Parser

from tlf.dialects import get_dialect_loaders, target
from tlf.dialects.interpreters.mem import make_mem_interpreter_functions
from tlf.dialects.target import description
from tlf.lowering.mem_to_npu.convert_mem_to_npu import ConvertMemToNpuPass
from tlf.lowering.mem_to_npu.npu_target import NpuTarget
from tlf.passes.mem.mem_pipeline import MemPipelinePass
from tlf.passes.mem.mem_plan import MemPlanPass
from tlf.passes.mem.mem_split_maps import MemSplitMapsPass
from tlf.runtime import npu

Array = NDArray[np.generic]


def parse(text: str) -> tuple[Context, ModuleOp]:
    """Parse and verify a program."""
    context = Context()
    for name, factory in (get_xdsl_dialects() | get_dialect_loaders()).items():
        context.register_dialect(name, factory)
    module = Parser(context, text).parse_module()
    module.verify()
    return context, module


def machine() -> target.TargetSpec:
    """The preset `npu`, with a matrix engine that multiplies integers, too."""
    text = (description.PRESETS / "npu.toml").read_text()
    data = tomllib.loads(text.replace("f32 = 4", "f32 = 4, i32 = 4, i8 = 1"))
    return target.target_from_data(data)


@pytest.fixture
def interpret_mem() -> Callable[[str, Sequence[Array]], None]:
    """
    Interprets a program, its loops pipelined, with these arguments; its results are
    written to them.
    """

    def interpret(text: str, arguments: Sequence[Array]) -> None:
        context, module = parse(text)
        machine().attach_to_module(module)
        MemPipelinePass().apply(context, module)
        module.verify()
        interpreter = Interpreter(module)
        interpreter.register_implementations(FuncFunctions())
        for functions in make_mem_interpreter_functions():
            interpreter.register_implementations(functions, override=True)
        function = next(op for op in module.walk() if isinstance(op, func.FuncOp))
        with np.errstate(all="ignore"):
            interpreter.call_op(function, tuple(arguments))

    return interpret


@pytest.fixture
def compile_mem() -> Callable[[str, bool], str]:
    """Compiles a program to the text of an NPU program, sharing bytes or not."""

    def compile_(text: str, share: bool = False) -> str:
        context, module = parse(text)
        machine().attach_to_module(module)
        for each in (
            MemPipelinePass(),
            MemSplitMapsPass(),
            MemPlanPass(share),
            ConvertMemToNpuPass(),
        ):
            each.apply(context, module)
            module.verify()
        output = StringIO()
        NpuTarget().emit(context, module, output)
        return output.getvalue()

    return compile_


@pytest.fixture
def simulate_mem(
    compile_mem: Callable[[str, bool], str],
) -> Callable[[str, Sequence[Array], bool], npu.Report]:
    """Compiles a program and runs it on the simulator with these inputs."""

    def simulate(text: str, inputs: Sequence[Array], share: bool = False) -> npu.Report:
        program = npu.parse(compile_mem(text, share))
        return npu.run(program, dict(zip(program.inputs, inputs, strict=True)))

    return simulate


@pytest.fixture
def check_mem(
    interpret_mem: Callable[[str, Sequence[Array]], None],
    simulate_mem: Callable[[str, Sequence[Array]], npu.Report],
) -> Callable[[str, Sequence[Array], Sequence[Array], float], None]:
    """Compares both runs of a program with the expected results."""

    def check_(
        text: str, inputs: Sequence[Array], expected: Sequence[Array], bound: float
    ) -> None:
        outputs = [np.zeros(each.shape, each.dtype) for each in expected]
        interpret_mem(text, [*inputs, *outputs])
        report = simulate_mem(text, inputs)
        simulated = list(report.outputs.values())
        for results in (outputs, simulated):
            for got, wanted in zip(results, expected, strict=True):
                wide = wanted.astype(np.float64)
                np.testing.assert_allclose(
                    got.astype(np.float64), wide, bound, bound * np.abs(wide).max()
                )

    return check_
