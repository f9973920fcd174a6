"""Times of first calls, in processes of their own."""

import math

import first_call
import pytest


def test_geometric_mean():
    assert first_call.geometric_mean([1.0, 4.0, math.nan]) == pytest.approx(2.0)
    assert math.isnan(first_call.geometric_mean([math.nan]))


@pytest.mark.long
def test_network(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TLF_CACHE", "1")
    arguments = ["--size", "tiny", "--target", "reference", "--only", "mixer block"]
    first_call.main(arguments)
    header, row = capsys.readouterr().out.splitlines()
    assert header.split() == ["network", "cold", "warm"]
    name, cold, warm = row.rsplit(maxsplit=2)
    assert name == "mixer block"
    assert float(cold) > 0
    assert float(warm) > 0


def test_failures_are_no_number(
    capsys: pytest.CaptureFixture[str],
) -> None:
    first_call.main(["--size", "tiny", "--target", "absent", "--only", "mixer block"])
    out, err = capsys.readouterr()
    assert out.splitlines()[1].split()[-2:] == ["nan", "nan"]
    assert err.startswith("mixer block: ")
