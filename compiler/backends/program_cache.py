"""Backends: cache of emitted programs, which outlives the process."""

from __future__ import annotations

from dataclasses import dataclass

from tlf.compiler.backends.emitted_archive import (
    decode_emitted_program,
    encode_emitted_program,
)
from tlf.compiler.backends.emitted_program import EmittedProgram
from tlf.runtime.storage.cache_settings import LOG
from tlf.runtime.storage.cache_store import CacheStore
from tlf.runtime.storage.program_archive import (
    ArchiveError,
    decode_archive,
    encode_archive,
)


@dataclass(frozen=True)
class ProgramCache:
    """Cache of emitted programs in a folder. It raises no errors of files."""

    files: CacheStore

    def find(self, key: str) -> EmittedProgram | None:
        """
        Return the program of a key; `None` if it is not in the cache. A damaged file is
        removed.
        """
        if (data := self.files.read(key)) is None:
            return None
        try:
            program = decode_emitted_program(decode_archive(data))
        except ArchiveError as error:
            LOG.debug("removed from the cache: %s", error)
            self.files.remove(key)
            return None
        LOG.debug("found in the cache: %s", key)
        return program

    def store(self, key: str, program: EmittedProgram, name: str, target: str) -> None:
        """Store a program; `name` and `target` are for display."""
        members = encode_emitted_program(program, name, target)
        self.files.write(key, encode_archive(members))
