"""Report of the time to import networks."""

import re

import pytest
from import_time import main

SMALL = ["--size", "tiny", "--runs", "1", "--networks", "gpt-2"]


def test_steps_and_hot_spots_are_told(capsys: pytest.CaptureFixture[str]):
    main([*SMALL, "--profile"])
    output = capsys.readouterr().out

    steps = re.findall(r"^  (\S.*?) +[\d.]+$", output, re.MULTILINE)
    assert steps[0] == "start"
    assert steps[-1] == "total"
    assert {"convert", "(verify)", "graph-decompose", "tlf-cse"} < set(steps)
    spots = re.findall(r"^ +[\d.]+  (\S.*)$", output, re.MULTILINE)
    assert len(spots) == 9
    folders = ("compiler/", "dialects/", "frontend/", "lowering/", "passes/")
    assert all(spot.startswith(folders) for spot in spots[6:])


def test_numbers_of_layers_are_compared(capsys: pytest.CaptureFixture[str]):
    main([*SMALL, "--layers", "1,2"])
    output = capsys.readouterr().out

    assert re.match(r"gpt-2, operations +\d+ +\d+  doubling\n", output)
    assert re.search(r"^  convert( +\d+\.\d){2} +\d\.\d\d$", output, re.MULTILINE)


def test_unknown_networks_are_refused(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main(["--networks", "gpt-9"])

    assert "expected networks among" in capsys.readouterr().err
