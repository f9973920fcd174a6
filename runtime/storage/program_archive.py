"""
Storage: archive of a compiled program, one zip file with a JSON record, texts and raw
tensors.

    manifest.json   format, version, and the sha256 of each other member
    program.json    the record of the program
    program.npu     further members: emitted texts, weights.safetensors

Members are not compressed. Nothing in an archive is code that loading executes.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

import msgspec

FORMAT = "tlf-program"

VERSION = 1
"""Version of the format; a change of any member or record increments it."""

MANIFEST = "manifest.json"

RECORD = "program.json"


class ArchiveError(Exception):
    """An archive that cannot be read; the message states expected and actual."""


@dataclass(frozen=True)
class Manifest:
    """Format and version of an archive, and the digests of its members."""

    format: str
    version: int
    sha256: Mapping[str, str]


def encode_archive(members: Mapping[str, bytes]) -> bytes:
    """Return the bytes of an archive; they depend on the members only."""
    digests = {name: sha256(data).hexdigest() for name, data in members.items()}
    manifest = msgspec.json.encode(Manifest(FORMAT, VERSION, digests))
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w") as archive:
        for name, data in {MANIFEST: manifest, **members}.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return output.getvalue()


def decode_archive(data: bytes) -> Mapping[str, bytes]:
    """
    Return the members of an archive by name. Raises `ArchiveError` for an unknown
    version, and for damaged or missing bytes.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            manifest = _decode_manifest(archive.read(MANIFEST))
            members = {name: archive.read(name) for name in manifest.sha256}
    except ArchiveError:
        raise
    except Exception as error:
        # The module `zipfile` raises errors of many types for damaged archives.
        reason = f"{type(error).__name__}: {error}"
        raise ArchiveError(
            f"expected a compiled program, got a damaged file ({reason})"
        ) from error
    for name, expected in manifest.sha256.items():
        if (digest := sha256(members[name]).hexdigest()) != expected:
            raise ArchiveError(f"expected sha256 {expected} of {name}, got {digest}")
    return members


def _decode_manifest(data: bytes) -> Manifest:
    """
    Return a manifest. Raises `ArchiveError` for another format or version, before
    anything else of the archive is read.
    """
    head = msgspec.json.decode(data, type=_FormatVersion)
    if head.format != FORMAT:
        raise ArchiveError(f"expected format {FORMAT}, got {head.format}")
    if head.version != VERSION:
        raise ArchiveError(f"expected format version {VERSION}, got {head.version}")
    return msgspec.json.decode(data, type=Manifest)


class _FormatVersion(msgspec.Struct):
    """The fields of a manifest that all versions have."""

    format: str
    version: int
