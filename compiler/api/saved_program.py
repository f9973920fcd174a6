"""
API: the public functions `tlf.save` and `tlf.load`, which store compiled programs in
files, and load them without the compiler.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tlf.compiler.api.callable_program import CallableProgram
from tlf.compiler.api.saved_record import (
    CHECKS,
    MODULE,
    LoadError,
    SavedRecord,
    decode_saved_record,
)
from tlf.compiler.backends.emitted_archive import (
    decode_emitted_program,
    decode_text,
    encode_emitted_texts,
)
from tlf.compiler.backends.executables import Executable, Signature
from tlf.compiler.backends.prepared_program import PreparedProgram
from tlf.compiler.backends.triton_kernels import TritonKernels
from tlf.compiler.driver.atomic_write import write_atomically
from tlf.runtime.storage.program_archive import (
    RECORD,
    ArchiveError,
    decode_archive,
    encode_archive,
)

if TYPE_CHECKING:
    from torch import Tensor

    from tlf.compiler.api.callable_module import CallableModule
    from tlf.compiler.api.compiled_program import CompiledProgram
    from tlf.compiler.api.runtime_checks import RuntimeChecks
    from tlf.compiler.api.torch_module import CompiledModule

REFERENCE = "reference"

REFERENCE_TEXT = "program.mlir"
"""Member with the program that the reference interprets."""


def save(
    compiled: CompiledProgram | CompiledModule,
    path: str | Path,
    *,
    weights: bool = True,
) -> None:
    """
    Store a result of `tlf.compile` in a file, with the weights of a PyTorch module
    unless `weights` is `False`.

    Raises `OSError` if the file cannot be written, and `TypeError` for a module that is
    called with objects other than tensors, numbers, texts and containers of Python.
    """
    program, members = _split_module(compiled, weights)
    record = SavedRecord(
        program.signature.name,
        program.target_name,
        REFERENCE if program.emitted is None else program.emitted.backend,
        None if program.emitted is None else program.emitted.preparation,
        program.signature.inputs,
        program.signature.outputs,
        program.argument_types,
        _find_capability(program.executable),
    )
    if program.checks is not None:
        members[CHECKS] = msgspec.json.encode(program.checks)
    if program.emitted is not None:
        texts = encode_emitted_texts(program.emitted)
    else:
        texts = {REFERENCE_TEXT: program.format_source().encode()}
    archive = {RECORD: msgspec.json.encode(record), **texts, **members}
    data = encode_archive(archive)
    write_atomically(Path(path), lambda partial: partial.write_bytes(data))


def load(
    path: str | Path, *, weights: Mapping[str, Tensor] | None = None
) -> CallableProgram | CallableModule:
    """
    Return the program or the PyTorch module in a file that `tlf.save` wrote. `weights`
    of a module are those of the file by default, else a state dictionary.

    Raises `LoadError` for a file that cannot be read, a file of another version, a
    missing GPU, and weights that do not fit.
    """
    try:
        members = decode_archive(Path(path).read_bytes())
        record = decode_saved_record(members.get(RECORD, b""))
        _check_gpu(record)
        program = _load_program(record, members)
        if MODULE not in members:
            return program
        from tlf.compiler.api.saved_module import decode_module

        return decode_module(program, members, weights)
    except OSError as error:
        raise LoadError(f"{path}: error: cannot read: {error.strerror}") from error
    except ArchiveError as error:
        raise LoadError(f"{path}: error: {error}") from error


def _split_module(
    compiled: CompiledProgram | CompiledModule, weights: bool
) -> tuple[CompiledProgram, dict[str, bytes]]:
    """
    Return the program of what was compiled, and the members of a PyTorch module.
    """
    from tlf.compiler.api.compiled_program import CompiledProgram

    if isinstance(compiled, CompiledProgram):
        return compiled, {}
    program: Any = getattr(compiled, "program", None)
    if not isinstance(program, CompiledProgram):
        kind = type(compiled).__name__
        raise TypeError(f"expected a result of `tlf.compile`, got {kind}")
    from tlf.compiler.api.saved_module import encode_module

    return program, encode_module(compiled, weights)


def _load_program(record: SavedRecord, members: Mapping[str, bytes]) -> CallableProgram:
    """Return the program of a file. Raises `ArchiveError`."""
    signature = Signature(
        record.inputs, record.outputs, record.name, record.preparation
    )
    try:
        executable = _load_executable(record, signature, members)
    except ArchiveError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())
        raise ArchiveError(
            f"expected a program that {record.backend} loads, got: {reason}"
        ) from error
    return CallableProgram(
        signature, record.argument_types, executable, _load_checks(members)
    )


def _load_executable(
    record: SavedRecord, signature: Signature, members: Mapping[str, bytes]
) -> Executable:
    """Return the executable of a program."""
    if record.backend != REFERENCE:
        return decode_emitted_program(members).build_executable(signature)
    from tlf.compiler.backends.interpreted_program import parse_interpreted_program

    text = decode_text(members, REFERENCE_TEXT)
    return parse_interpreted_program(text, record.name, record.outputs)


def _load_checks(members: Mapping[str, bytes]) -> RuntimeChecks | None:
    """Return the checks of indices and divisors, or `None`. Raises `ArchiveError`."""
    if (checks := members.get(CHECKS)) is None:
        return None
    from tlf.compiler.api.runtime_checks import RuntimeChecks

    try:
        return msgspec.json.decode(checks, type=RuntimeChecks)
    except msgspec.MsgspecError as error:
        raise ArchiveError(f"expected checks of values, got: {error}") from error


def _find_capability(executable: Executable) -> tuple[int, int] | None:
    """Return the compute capability of the GPU of an executable, if it is on one."""
    main = executable.main if isinstance(executable, PreparedProgram) else executable
    if not isinstance(main, TritonKernels) or main.executable.device.type != "cuda":
        return None
    torch: Any = sys.modules["torch"]
    return torch.cuda.get_device_capability(main.executable.device)


def _check_gpu(record: SavedRecord) -> None:
    """
    Raise `ArchiveError` if a program that was compiled on a GPU finds none, or another.
    Triton's interpreter runs it if TRITON_INTERPRET is 1.
    """
    if record.capability is None or os.environ.get("TRITON_INTERPRET") == "1":
        return
    expected = "expected a GPU of compute capability {}.{}".format(*record.capability)
    try:
        import torch
    except ImportError as error:
        raise ArchiveError(f"{expected}, got no torch: {error}") from error
    if not torch.cuda.is_available():
        raise ArchiveError(f"{expected}, got none")
    if (found := torch.cuda.get_device_capability()) != record.capability:
        raise ArchiveError("{}, got one of {}.{}".format(expected, *found))
