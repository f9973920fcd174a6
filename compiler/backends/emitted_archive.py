"""Backends: emitted programs as members of an archive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from tlf.compiler.backends.emitted_program import TEXT_NAMES, EmittedProgram
from tlf.compiler.backends.executables import Preparation
from tlf.runtime.storage.program_archive import RECORD, ArchiveError

PREPARATION_PREFIX = "prepare_"
"""Prefix of the name of the preparation's text."""


@dataclass(frozen=True)
class EmittedRecord:
    """Record of an emitted program; `name` and `target` are for display."""

    name: str
    target: str
    backend: str
    preparation: Preparation | None = None


def encode_emitted_program(
    program: EmittedProgram, name: str, target: str
) -> Mapping[str, bytes]:
    """Return the members of an archive with an emitted program."""
    record = EmittedRecord(name, target, program.backend, program.preparation)
    return {
        RECORD: msgspec.json.encode(record),
        **encode_emitted_texts(program),
    }


def encode_emitted_texts(program: EmittedProgram) -> Mapping[str, bytes]:
    """Return the members with the texts of an emitted program."""
    name = TEXT_NAMES[program.backend]
    texts = {name: program.text.encode()}
    if program.preparation is not None:
        texts[PREPARATION_PREFIX + name] = program.preparation_text.encode()
    return texts


def decode_emitted_program(members: Mapping[str, bytes]) -> EmittedProgram:
    """Return the emitted program of an archive. Raises `ArchiveError`."""
    record = decode_emitted_record(members)
    if (name := TEXT_NAMES.get(record.backend)) is None:
        listed = " or ".join(TEXT_NAMES)
        raise ArchiveError(f"expected a program of {listed}, got {record.backend}")
    names = [name]
    if record.preparation is not None:
        names.append(PREPARATION_PREFIX + name)
    texts = [decode_text(members, each) for each in names]
    return EmittedProgram(
        record.backend, texts[0], record.preparation, "".join(texts[1:])
    )


def decode_emitted_record(members: Mapping[str, bytes]) -> EmittedRecord:
    """Return the record of an archive. Raises `ArchiveError`."""
    try:
        return msgspec.json.decode(members.get(RECORD, b""), type=EmittedRecord)
    except msgspec.MsgspecError as error:
        raise ArchiveError(f"expected a record of a program, got: {error}") from error


def decode_text(members: Mapping[str, bytes], name: str) -> str:
    """Return a text of an archive. Raises `ArchiveError` if there is none."""
    if (data := members.get(name)) is None:
        raise ArchiveError(f"expected a member {name}, got none")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ArchiveError(f"expected {name} in UTF-8, got: {error}") from error
