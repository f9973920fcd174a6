"""Archives of programs: contents, damage, and other versions."""

from __future__ import annotations

import io
import json
import random
import zipfile
from collections.abc import Mapping

import pytest

from tlf.runtime.storage.program_archive import (
    MANIFEST,
    ArchiveError,
    decode_archive,
    encode_archive,
)

MEMBERS = {"program.json": b"{}", "program.npu": b"text " * 40, "empty": b""}


def with_manifest(**changes: object) -> bytes:
    """An archive with changes of its manifest."""
    source = zipfile.ZipFile(io.BytesIO(encode_archive(MEMBERS)))
    manifest = json.loads(source.read(MANIFEST)) | changes
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w") as archive:
        archive.writestr(MANIFEST, json.dumps(manifest))
        for name, data in MEMBERS.items():
            archive.writestr(name, data)
    return output.getvalue()


def decode_or_refuse(data: bytes) -> Mapping[str, bytes] | None:
    """The members of an archive, or `None` if it is refused."""
    try:
        return decode_archive(data)
    except ArchiveError:
        return None


def test_roundtrip():
    data = encode_archive(MEMBERS)
    assert decode_archive(data) == MEMBERS
    assert encode_archive(MEMBERS) == data


def test_every_truncation_is_refused():
    data = encode_archive(MEMBERS)
    for length in range(len(data)):
        assert decode_or_refuse(data[:length]) is None, length


def test_damage_is_refused_or_without_effect():
    data = encode_archive(MEMBERS)
    generator = random.Random(0)
    refused = 0
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 1 << generator.randrange(8)
        found = decode_or_refuse(bytes(damaged))
        assert found in (None, MEMBERS), position
        refused += found is None
    assert refused > len(data) / 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 2, "more": []}, "expected format version 1, got 2"),
        ({"format": "other"}, "expected format tlf-program, got other"),
        ({"sha256": {"empty": "0"}}, "expected sha256 0 of empty, got e3b0"),
        ({"sha256": {"absent": "0"}}, "expected a compiled program, got a damaged"),
        ({"sha256": 3}, "expected a compiled program, got a damaged"),
    ],
)
def test_messages(changes: dict[str, object], message: str):
    with pytest.raises(ArchiveError, match=message):
        decode_archive(with_manifest(**changes))
