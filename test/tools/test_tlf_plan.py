"""`tlf-plan`: problems as comma-separated values, and what is said of mistakes."""

import csv
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from placement_problems import perfect_packing

from tlf.support.allocation import Buffer, LiveSpan
from tlf.tools.plan_csv import CSVError, read_problem
from tlf.tools.tlf_plan import main

HEADER = "id,lower,upper,size\n"


def written(path: Path, text: str) -> str:
    """A file with this text, by its name."""
    path.write_text(text, encoding="utf-8")
    return str(path)


def as_csv(buffers: list[Buffer]) -> str:
    """Buffers that are live once each."""
    lines = [
        f"{number},{span.start},{span.end},{buffer.size}\n"
        for number, buffer in enumerate(buffers)
        for span in buffer.spans
    ]
    return HEADER + "".join(lines)


def test_placement_within_a_capacity(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    source = written(tmp_path / "in.csv", as_csv(perfect_packing(4, 50)))
    out, drawn = tmp_path / "out.csv", tmp_path / "out.svg"
    files = ["--out", str(out), "--render", str(drawn)]
    main(["--csv", source, "--capacity", "16384", *files])

    said = capsys.readouterr().out
    assert "arena          16,384 bytes, proven optimal" in said
    assert "arena / live   1.0000" in said
    with out.open(encoding="utf-8") as file:
        rows = [
            {name: int(value) for name, value in row.items()}
            for row in csv.DictReader(file)
        ]
    assert len(rows) == 50
    for number, one in enumerate(rows):
        assert one["offset"] + one["size"] <= 16384
        for other in rows[:number]:
            assert (
                one["offset"] + one["size"] <= other["offset"]
                or other["offset"] + other["size"] <= one["offset"]
                or one["upper"] <= other["lower"]
                or other["upper"] <= one["lower"]
            )
    assert len(ET.parse(drawn).getroot()) > 50

    main(["--csv", str(out)])
    assert "method         given" in capsys.readouterr().out


def test_columns_of_every_kind():
    text = """id,begin,end,size,alignment,gaps,hint,offset,period,within
a,0,9,64,32,2-3 5-6@0:16,128,,,
b,6,9,8,,,,256,8,

c,0,1,4,,,,,,a+16
"""
    first, second, third = read_problem(text, alignment=2).buffers
    assert first == Buffer(
        64,
        (
            LiveSpan(0, 2, 0, 64),
            LiveSpan(4, 5, 0, 64),
            LiveSpan(5, 7, 0, 16),
            LiveSpan(7, 10, 0, 64),
        ),
        32,
        hint=128,
    )
    assert second == Buffer(
        8, (LiveSpan(6, 8, 0, 8), LiveSpan(0, 2, 0, 8)), 2, offset=256
    )
    assert third == Buffer(4, (LiveSpan(0, 2, 0, 4),), 2, enclosing=(0, 16))
    assert read_problem(text, replan=True).buffers[1].offset is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1:1: error: expected columns id, lower, upper, size, got nothing"),
        ("id,size\n", "1:1: error: expected a column `lower`, got `id,size`"),
        (
            "id,lower,end,upper\n",
            "1:14: error: expected every column once, got `upper`",
        ),
        ("id,color\n", "1:4: error: expected a column of id, lower, upper, size, "),
        (HEADER + "a,0,1\n", "2:1: error: expected 4 values, got 3"),
        (
            HEADER + "a,0, x,4\n",
            "2:6: error: expected an integer of at least 0, got `x`",
        ),
        (HEADER + "a,0,1,-4\n", "2:7: error: expected an integer of at least 0, got"),
        (HEADER + "a,3,1,4\n", "2:5: error: expected a step from 3 on, got `1`"),
        (HEADER + "a,0,1,4\na,0,1,4\n", "3:1: error: expected a name of its own"),
        (
            "id,lower,upper,size,gaps\na,2,9,4,1-3\n",
            "2:9: error: expected gaps within 2 to 9, one after the other, got `1-3`",
        ),
        ("id,lower,upper,size,gaps\na,2,9,4,x\n", "2:9: error: expected gaps such as"),
        (
            "id,lower,upper,size,gaps\na,2,9,4,3-4@0:5\n",
            "2:9: error: expected bytes within 4, got `3-4@0:5`",
        ),
        (
            "id,lower,upper,size,period\na,2,9,4,6\n",
            "2:9: error: expected a period of at least the lifetime, 7 steps, got `6`",
        ),
        (
            "id,lower,upper,size,within\na,2,9,4,b\n",
            "2:9: error: expected the `id` of a buffer, or `id+bytes`, got `b`",
        ),
        (
            "id,lower,upper,size,offset\na,2,9,4,0\n\nb,2,9,4,2\nc,2,9,4,9\n",
            "4:1: error: buffers `a` and `b` share bytes while both are live",
        ),
        (
            "id,lower,upper,size,offset,alignment\na,2,9,4,2,4\n",
            "2:1: error: expected an offset that is a multiple of the alignment, got 2 "
            "of buffer `a`",
        ),
        (
            "id,lower,upper,size,offset,within\na,2,9,4,2,\nb,2,9,4,3,a\n",
            "3:1: error: expected one offset of at least 0 for the place of buffer "
            "`b`, got 3",
        ),
        (
            "id,lower,upper,size,alignment,within\na,2,9,8,4,\nb,2,9,4,4,a+2\n",
            "3:1: error: expected a distance that suits both alignments, 4 and 4 of "
            "buffer `b`",
        ),
        (
            "id,lower,upper,size,within\na,2,9,4,b\nb,2,9,4,a\n",
            "2:1: error: expected a buffer that is in no other, got a cycle at `a`",
        ),
        (
            HEADER + "a,0,4,90\nb,0,4,20\n",
            " error: expected an allocation within 100 bytes, which is below the lower "
            "bound: got a peak of 110 bytes (110 live at once)",
        ),
    ],
)
def test_mistakes_are_one_line(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    source = written(tmp_path / "in.csv", text)
    out = tmp_path / "out.csv"
    with pytest.raises(SystemExit) as end:
        main(["--csv", source, "--capacity", "100", "--out", str(out)])

    said = capsys.readouterr()
    assert end.value.code == 1
    assert said.out == ""
    assert said.err.startswith(f"{source}:{message}")
    assert said.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == [Path(source)]


def test_files_that_are_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    source = written(tmp_path / "in.csv", HEADER + "a,0,1,4\n")
    for words in (
        ["--csv", str(tmp_path / "none.csv")],
        ["--csv", source, "--out", str(tmp_path / "none" / "out.csv")],
    ):
        with pytest.raises(SystemExit):
            main(words)
        error = capsys.readouterr().err
        assert error.startswith("tlf-plan: error: ")
        assert error.endswith(": No such file or directory\n")


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("--capacity", "much", "a size such as 512K"),
        ("--budget", "-1", "seconds above 0"),
        ("--budget", "0", "seconds above 0"),
        ("--budget", "nan", "seconds above 0"),
        ("--budget", "soon", "seconds above 0"),
    ],
)
def test_wrong_options(
    option: str, value: str, expected: str, capsys: pytest.CaptureFixture[str]
):
    with pytest.raises(SystemExit):
        main(["--csv", "x.csv", option, value])
    message = f"argument {option}: expected {expected}, got `{value}`"
    assert capsys.readouterr().err == f"tlf-plan: error: {message}\n"


def test_an_offset_that_was_given_is_replaced():
    problem = read_problem("id,offset,lower,upper,size\na,8,0,1,4\n", replan=True)
    assert problem.format_with_offsets([0]) == "id,lower,upper,size,offset\na,0,1,4,0\n"


def test_errors_have_a_place():
    with pytest.raises(CSVError) as raised:
        read_problem(HEADER + "a,0,1,1.5\n")
    assert (raised.value.line, raised.value.column) == (2, 7)


def test_sizes_have_units(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    source = written(tmp_path / "in.csv", HEADER + "a,0,1,4\n")
    main(["--csv", source, "--capacity", "2K", "--alignment", "1K"])
    assert "capacity       2,048 bytes\n" in capsys.readouterr().out
