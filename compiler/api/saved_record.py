"""API: record of a saved program, and the errors of saving and loading."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from tlf.compiler.api.argument_conversion import ArgumentType
from tlf.compiler.backends.emitted_archive import EmittedRecord
from tlf.runtime.storage.program_archive import ArchiveError

CHECKS = "checks.json"
"""Member with the checks of indices and divisors, if there are any."""

MODULE = "module.json"
"""Member with the call of a PyTorch module, if the program is one."""


class LoadError(Exception):
    """A file that cannot be loaded; the message has the file, expected and actual."""


@dataclass(frozen=True)
class SavedRecord(EmittedRecord):
    """
    Record of a saved program: the record of the emitted one, and all that a call needs.
    """

    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    argument_types: tuple[ArgumentType, ...] = ()
    capability: tuple[int, int] | None = None
    """Compute capability of the GPU that it was compiled on; `None` if on no GPU."""


def decode_saved_record(data: bytes) -> SavedRecord:
    """Return the record of a saved program. Raises `ArchiveError`."""
    try:
        return msgspec.json.decode(data, type=SavedRecord)
    except msgspec.MsgspecError as error:
        raise ArchiveError(f"expected a record of a program, got: {error}") from error
