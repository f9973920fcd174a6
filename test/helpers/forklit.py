"""
Lit format that runs the project's Python tools in forks of the lit process.

The tools are loaded once in lit's process, so that a command does not start a new
interpreter. The shell, pipes, redirections, `not`, `env` and substitutions are lit's.
Each command still runs in its own process.
"""

import gc
import importlib
import inspect
import io
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import lit.TestRunner
from lit.formats import ShTest

TOOLS = {
    "tlf": "tlf.tools.umbrella_command",
    "tlf-bench": "tlf.tools.tlf_bench",
    "tlf-explain": "tlf.tools.tlf_explain",
    "tlf-opt": "tlf.tools.tlf_opt",
    "tlf-plan": "tlf.tools.tlf_plan",
    "tlf-run": "tlf.tools.tlf_run",
    "filecheck": "filecheck.main",
}
"""Forked commands, and the modules of their `main`."""

WARM = (
    "numpy.random",
    "tlf.lowering.evaluator",
    "tlf.runtime.npu",
    "tlf.tools.explain_command",
    "tlf.tools.opt_command",
    "tlf.tools.run_command",
    "xdsl.dialects.affine",
    "xdsl.dialects.arith",
    "xdsl.dialects.func",
    "xdsl.dialects.math",
    "xdsl.dialects.memref",
    "xdsl.dialects.scf",
    "xdsl.dialects.tensor",
    "xdsl.dialects.test",
    "xdsl.transforms.canonicalize",
)
"""Modules that most tests need."""


class ForkShTest(ShTest):
    """lit's `ShTest` with forked tools."""

    def execute(self, test, litConfig):
        warm_up()
        lit.TestRunner.subprocess = _Subprocess()
        return super().execute(test, litConfig)


def warm_up() -> None:
    """Load the modules of the tools, once per process."""
    if _mains:
        return
    for command, module in TOOLS.items():
        if (main := _main_of(module)) is not None:
            _mains[command] = main
    for module in WARM:
        importlib.import_module(module)
    with suppress(ImportError):  # Only runs of kernels need it.
        importlib.import_module("torch")
    _load_own_modules()
    gc.collect()
    gc.freeze()  # so that the collector does not touch pages shared with the children


_mains: dict[str, Callable[[], object]] = {}


def _main_of(module: str) -> Callable[[], object] | None:
    try:
        return importlib.import_module(module).main
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        return None


def _load_own_modules() -> None:
    """Load the dialects, passes and formats of TLF."""
    from tlf.compiler.driver.universe import TLF_UNIVERSE as universe

    for table in (universe.all_dialects, universe.all_passes, universe.all_targets):
        for factory in table.values():
            # A failure to load must fail only the tests that need it, not all tests.
            with suppress(Exception):
                factory()


class _ForkPopen(subprocess.Popen):
    """`Popen` that forks this process if the command is one of the tools."""

    def _execute_child(self, *args, **kwargs):
        bound = _SIGNATURE.bind(self, *args, **kwargs).arguments
        main = _mains.get(os.path.basename(bound["executable"] or bound["args"][0]))
        if main is None:
            return super()._execute_child(*args, **kwargs)
        if (pid := os.fork()) == 0:
            _run_child(main, bound)
        self.pid = pid
        self._child_created = True
        self._close_pipe_fds(
            *(bound[name] for name in ("p2cread", "p2cwrite", "c2pread", "c2pwrite")),
            bound["errread"],
            bound["errwrite"],
        )


_SIGNATURE = inspect.signature(subprocess.Popen._execute_child)


class _Subprocess:
    """Replacement of the module `subprocess` in `lit.TestRunner`."""

    Popen = _ForkPopen

    def __getattr__(self, name: str) -> Any:
        return getattr(subprocess, name)


def _run_child(main: Callable[[], object], bound: dict[str, Any]) -> None:
    """Run `main` as a command in the child process, and exit."""
    status = 1
    try:
        for source, number in ("p2cread", 0), ("c2pwrite", 1), ("errwrite", 2):
            if bound[source] != -1:
                os.dup2(bound[source], number)
        os.closerange(3, 256)
        if bound["cwd"]:
            os.chdir(bound["cwd"])
        if bound["env"] is not None:
            os.environ.clear()
            os.environ.update(bound["env"])
        sys.stdin = _text(0, "r")
        sys.stdout = _text(1, "w")
        sys.stderr = _text(2, "w", line_buffering=True)
        sys.argv = [os.fspath(arg) for arg in bound["args"]]
        status = _status(main)
        if sys.stdout is not None:
            sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)


def _status(main: Callable[[], object]) -> int:
    try:
        main()
    except SystemExit as error:
        if error.code is None or isinstance(error.code, int):
            return error.code or 0
        print(error.code, file=sys.stderr)
        return 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def _text(number: int, mode: str, line_buffering: bool = False) -> io.TextIOWrapper:
    raw = io.FileIO(number, mode, closefd=False)
    buffered = io.BufferedReader(raw) if mode == "r" else io.BufferedWriter(raw)
    return io.TextIOWrapper(buffered, "utf-8", line_buffering=line_buffering)
