"""API: reports of compiler failures inside `torch.compile`, with reproducers."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import fx
from xdsl.dialects.builtin import ModuleOp

from tlf.compiler.api.torch_settings import Fallback, Settings
from tlf.compiler.driver.atomic_write import write_atomically
from tlf.runtime.triton.runtime_errors import UnavailableError

LOG = logging.getLogger("tlf.torch")

FOLDER_VARIABLE = "TLF_REPRODUCER_DIR"
"""Environment variable with the folder of reproducers."""


class FallbackError(Exception):
    """A part of a graph could not be compiled, and fallback to PyTorch is disabled."""


@dataclass(frozen=True)
class FailureReporter:
    """Reporter of failed compilations, which applies the fallback policy."""

    settings: Settings

    @contextmanager
    def report_exceptions(
        self, subject: str, program: ModuleOp | fx.GraphModule
    ) -> Generator[None]:
        """Report an exception raised inside, with `program` as its reproducer."""
        try:
            yield
        except Exception as error:
            if not _is_compiler_fault(error):
                raise
            self.report_failure(
                subject, _format_error_on_one_line(error), program, error
            )

    def report_failure(
        self,
        subject: str,
        reason: str,
        program: ModuleOp | fx.GraphModule,
        cause: Exception | None = None,
    ) -> None:
        """
        Report that a part could not be compiled, with the reason. Raises
        `FallbackError` if fallback to PyTorch is disabled.
        """
        reproducer = self._describe_reproducer(reason, program)
        if self.settings.fallback is Fallback.STRICT:
            raise FallbackError(f"{subject}: {reason} ({reproducer})") from cause
        LOG.warning(
            "%s is not compiled and runs in PyTorch: %s (%s)",
            subject,
            reason,
            reproducer,
        )
        LOG.debug("raised here", exc_info=cause)

    def _describe_reproducer(
        self, reason: str, program: ModuleOp | fx.GraphModule
    ) -> str:
        """
        Write a reproducer file, and return text with its path, or with the error if
        writing fails.
        """
        try:
            return f"reproducer: {self._write_reproducer(reason, program)}"
        except Exception as error:
            return f"no reproducer: {_format_error_on_one_line(error)}"

    def _write_reproducer(
        self, reason: str, program: ModuleOp | fx.GraphModule
    ) -> Path:
        """Write `program` below a header with `reason`; return the hash-named file."""
        mark, ending, text = _reproducer_format_of(program)
        key = sha256(f"{self.settings}{text}".encode()).hexdigest()[:12]
        file = self._reproducer_folder() / f"part-{key}{ending}"
        lines = [*self._reproducer_header_lines(file), reason]
        header = "".join(f"{mark} {line}\n" for line in lines)
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, lambda at: at.write_text(f"{header}{text}\n", "utf-8"))
        return file

    def _reproducer_header_lines(self, file: Path) -> Sequence[str]:
        """
        Return header lines of the reproducer: a command to compile it, the target and
        versions.
        """
        target = self.settings.target
        name = target if isinstance(target, str) else target.name
        about = (
            f"target {name}, numerics {self.settings.numerics}",
            f"torch {torch.__version__}",
        )
        is_program = file.suffix == ".mlir" and isinstance(target, str)
        return (f"tlf-run {file} --target {name}", *about) if is_program else about

    def _reproducer_folder(self) -> Path:
        """
        Return the folder of the settings or `FOLDER_VARIABLE`, else a temporary one.
        """
        folder = self.settings.reproducers or os.environ.get(FOLDER_VARIABLE)
        if folder:
            return Path(folder)
        return Path(tempfile.gettempdir()) / f"tlf-reproducers-{os.getuid()}"


def _reproducer_format_of(program: ModuleOp | fx.GraphModule) -> tuple[str, str, str]:
    """Return the comment marker, the file extension and the text of a program."""
    if isinstance(program, ModuleOp):
        return "//", ".mlir", str(program)
    return "#", ".py", program.print_readable(print_output=False)


def _is_compiler_fault(error: Exception) -> bool:
    """
    Return `True` if an error is a fault of the compiler, rather than a request to
    install something, or an exception by which PyTorch controls its tracing.
    """
    library: Any = import_module("torch._dynamo.exc")
    control_flow = (library.RestartAnalysis, library.SkipFrame)
    return not isinstance(error, (FallbackError, UnavailableError, *control_flow))


def _format_error_on_one_line(error: Exception) -> str:
    """
    Return type and message; only the message of `CompileError` and `ImportFailure`.
    """
    text = " ".join(str(error).split())
    name = type(error).__name__
    if name in ("CompileError", "ImportFailure"):
        return text
    return f"{name}: {text}" if text else name
