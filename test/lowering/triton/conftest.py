"""
Programs at the mem level, run on Triton and compiled for sm_90.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Generator, Mapping
from pathlib import Path

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import get_all_dialects as get_xdsl_dialects
from xdsl.parser import Parser

from tlf.dialects import get_all_dialects
from tlf.lowering.convert_mem_to_triton import ConvertMemToTritonPass
from tlf.lowering.triton_target import build_plan
from tlf.runtime import triton
from tlf.runtime.triton.kernel_files import kernel_file
from tlf.runtime.triton.plan import Kernel, Launch, Loop, Plan
from tlf.runtime.triton.sanitizers import sanitize

Arrays = Mapping[str, np.ndarray]

_TYPES = {"f16": "fp16", "f32": "fp32", "f64": "fp64"}


def compiled(text: str) -> Plan:
    """
    The plan of the only function in a mem program.
    """
    context = Context()
    for name, factory in (get_xdsl_dialects() | get_all_dialects()).items():
        context.register_dialect(name, factory)
    module = Parser(context, text).parse_module()
    module.verify()
    ConvertMemToTritonPass().apply(context, module)
    module.verify()
    return triton.load_plan(json.dumps(build_plan(module).json))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLF_CACHE_DIR", str(tmp_path))


@pytest.fixture(scope="session")
def compiler() -> Generator[subprocess.Popen[str]]:
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    script = Path(__file__).with_name("offline_compiler.py")
    with subprocess.Popen(
        [sys.executable, str(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


@pytest.fixture
def compile_plan(compiler: subprocess.Popen[str]) -> Callable[[Plan], None]:
    """
    Checks that Triton compiles all kernels of a plan for sm_90.
    """

    def check(plan: Plan) -> None:
        assert compiler.stdin is not None
        assert compiler.stdout is not None
        for kernel in plan.kernels:
            request = {
                "path": str(kernel_file(kernel)),
                "name": kernel.name,
                "types": _types(plan, kernel),
                "num_warps": kernel.num_warps,
                "num_stages": kernel.num_stages,
            }
            compiler.stdin.write(json.dumps(request) + "\n")
            compiler.stdin.flush()
            answer = compiler.stdout.readline().strip()
            assert answer == "ok", f"{answer}\n{kernel.source}"

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


def _types(plan: Plan, kernel: Kernel) -> list[str]:
    """
    The types of a kernel's parameters as Triton spells them.
    """
    launch = next(s for s in _launches(plan.steps) if s.kernel == kernel.name)
    return [
        f"*{_TYPES.get(dtype := plan.buffer(name).dtype, dtype)}"
        if kind == "buffer"
        else "i32"
        for kind, name in launch.arguments
    ]


def _launches(steps: tuple[Launch | Loop, ...]) -> Generator[Launch]:
    for step in steps:
        if isinstance(step, Loop):
            yield from _launches(step.steps)
        else:
            yield step
