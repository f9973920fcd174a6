"""
Programs at the mem level, run on Triton and compiled for sm_90.
"""

import json
from collections.abc import Callable, Generator, Mapping
from pathlib import Path

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import get_all_dialects as get_xdsl_dialects
from xdsl.parser import Parser

from tlf.dialects import get_dialect_loaders
from tlf.lowering.mem_to_triton.convert_mem_to_triton import ConvertMemToTritonPass
from tlf.lowering.mem_to_triton.triton_target import build_launch_plan
from tlf.runtime import triton
from tlf.runtime.triton.launch_plan import Plan
from tlf.runtime.triton.offline_compiler import OfflineCompiler
from tlf.runtime.triton.sanitizers import sanitize

Arrays = Mapping[str, np.ndarray]


def compiled(text: str) -> Plan:
    """
    The plan of the only function in a mem program.
    """
    context = Context()
    for name, factory in (get_xdsl_dialects() | get_dialect_loaders()).items():
        context.register_dialect(name, factory)
    module = Parser(context, text).parse_module()
    module.verify()
    ConvertMemToTritonPass().apply(context, module)
    module.verify()
    return triton.load_plan(json.dumps(build_launch_plan(module).json))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLF_CACHE_DIR", str(tmp_path))


@pytest.fixture(scope="session")
def compiler() -> Generator[OfflineCompiler]:
    with OfflineCompiler() as compiler:
        yield compiler


@pytest.fixture
def compile_plan(compiler: OfflineCompiler) -> Callable[[Plan], None]:
    """
    Checks that Triton compiles all kernels of a plan for sm_90.
    """

    def check(plan: Plan) -> None:
        compiler.compile_plan_kernels(plan, assemble=False)

    return check


@pytest.fixture
def check(
    compile_plan: Callable[[Plan], None],
) -> Callable[[str, Arrays], Arrays]:
    """
    Runs a program with all sanitizers on, compiles its kernels, returns its results.
    """

    def execute(text: str, inputs: Arrays) -> Arrays:
        plan = compiled(text)
        with sanitize():
            results = triton.run(plan, inputs)
        compile_plan(plan)
        return {name: np.asarray(value) for name, value in results.items()}

    return execute


@pytest.fixture
def plan_of() -> Callable[[str], Plan]:
    return compiled
