"""The examples of docs/npu-isa.md are programs."""

from pathlib import Path

import numpy as np

from tlf.runtime.npu import parse, run

PAGE = Path(__file__).parents[3] / "docs" / "npu-isa.md"


def examples() -> list[str]:
    """The fenced blocks that name no other language."""
    blocks: list[str] = []
    block: list[str] | None = None
    for line in PAGE.read_text().splitlines():
        if not line.startswith("```"):
            if block is not None:
                block.append(line)
        elif block is None:
            block = [line]
        else:
            if block[0] == "```":
                blocks.append("\n".join(block[1:]) + "\n")
            block = None
    return blocks


def test_examples(tmp_path: Path):
    np.savez(tmp_path / "weights.npz", w=np.zeros((64, 64), np.uint16).view("V2"))
    head, *others = examples()
    assert parse(head, tmp_path).constants["c0"].data is not None
    assert len(others) == 7
    for code in others:
        text = head.replace("halt\n", f"%a = mov 0\n%n = mov 1\n{code}halt\n")
        assert run(parse(text, tmp_path), {}, functional=False).cycles > 2
