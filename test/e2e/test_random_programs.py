"""
Random programs of the graph dialect give on every target what the reference gives, and
after every pass.

`python test/helpers/fuzz.py` runs more of them, and makes those that fail small.
"""

import re
from itertools import pairwise

import pytest
from differential import Fault, check, disagreement, make_case, parsed
from graph_program import Program, Step, Value
from random_chains import random_chain
from random_lookups import random_lookup
from random_programs import RULES, random_program
from random_weights import random_weighted

SEEDS = range(1000, 1028)
CHAIN_SEEDS = range(3000, 3016)
LOOKUP_SEEDS = range(4000, 4020)
WEIGHTED_SEEDS = range(5000, 5016)
PLANNED_SEEDS = [*range(2000, 2009), *range(2010, 2016)]
"""Without 2009, whose tiles are so many that it takes as long as ten others."""

LIMITS = {
    "npu": [r"the npu multiplies .*, got i\d+"],
    "h200": [
        "its operand must come from memory, not from the group",
        "cannot split an axis of a tile of registers",
    ],
}
"""Messages with which a backend may refuse to compile."""


def expect_right(fault: Fault | None, target: str, program: Program):
    """Skip what the target refuses for a known reason; nothing else may be wrong."""
    limits = LIMITS["npu" if target == "npu-tiny" else target]
    if fault is not None and fault.kind == "refused":
        if any(re.search(limit, fault.message) for limit in limits):
            pytest.skip(fault.message)
    assert fault is None, f"{fault}\n{program.text()}"


@pytest.mark.one_in(24)
@pytest.mark.parametrize("target", ["npu-tiny", "npu", "h200"])
@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs(seed: int, target: str):
    program = random_program(seed)

    fault = check(make_case(program.text()), target, search=True)
    expect_right(fault, target, program)


@pytest.mark.one_in(16)
@pytest.mark.parametrize("target", ["npu-tiny", "npu", "h200"])
@pytest.mark.parametrize("seed", CHAIN_SEEDS)
def test_random_chains(seed: int, target: str):
    """Slices, pads, concatenations and gatherings, one of the other."""
    program = random_chain(seed)

    fault = check(make_case(program.text()), target, search=True)
    expect_right(fault, target, program)


@pytest.mark.one_in(16)
@pytest.mark.parametrize("target", ["npu-tiny", "h200"])
@pytest.mark.parametrize("seed", LOOKUP_SEEDS)
def test_random_lookups(seed: int, target: str):
    """Values that are read where others say, between all kinds of steps."""
    program = random_lookup(seed)

    fault = check(make_case(program.text()), target, search=True)
    expect_right(fault, target, program)


@pytest.mark.one_in(16)
@pytest.mark.parametrize("target", ["npu-tiny", "h200"])
@pytest.mark.parametrize("seed", WEIGHTED_SEEDS)
def test_random_weights(seed: int, target: str):
    """Products and convolutions that share an input, and what follows them."""
    program = random_weighted(seed, count=9)

    fault = check(make_case(program.text()), target, search=True)
    expect_right(fault, target, program)


@pytest.mark.one_in(24)
@pytest.mark.parametrize("target", ["npu", "h200"])
@pytest.mark.parametrize("seed", PLANNED_SEEDS)
def test_random_plans(seed: int, target: str):
    """Any tile sizes, any order of loops, any number of stages."""
    program = random_program(seed)

    fault = check(make_case(program.text()), target, plans=seed)

    expect_right(fault, target, program)


def test_every_operation_is_made():
    text = "".join(random_program(seed).text() for seed in range(2000))

    made = set(re.findall(r"graph\.(\w+)", text))
    assert made >= {
        *("add", "sub", "mul", "div", "maximum", "exp", "sqrt", "rsqrt", "tanh"),
        *("neg", "abs", "log", "sin", "cos", "pow", "minimum", "sigmoid", "silu"),
        *("compare", "select", "and", "or", "not"),
        *("erf", "relu", "gelu", "dropout", "cast", "constant", "matmul", "contract"),
        *("conv2d", "reduce", "mean", "softmax", "layer_norm", "batch_norm"),
        *("reshape", "transpose", "broadcast", "pad", "slice", "concat", "iota"),
        *("unfold", "max_pool2d", "sum_pool2d", "avg_pool2d", "rms_norm"),
    }
    for element in ("f32", "f16", "bf16", "i64", "i32", "i8", "i1"):
        assert f"x{element}>" in text


def test_programs_depend_on_their_seed_alone():
    assert random_program(3) == random_program(3)
    assert random_program(3) != random_program(4)
    assert len(random_program(5, 12).steps) > len(random_program(5, 2).steps)
    assert RULES


def _chain() -> Program:
    values = [Value(name, (4,), "f32") for name in "abcd"]
    steps = [
        Step(result, "graph.exp {}", (operand,)) for operand, result in pairwise(values)
    ]
    return Program((values[0],), tuple(steps), tuple(values[2:]))


def test_smaller_programs_are_valid():
    for seed in range(20):
        program = random_program(seed)
        for smaller in program.smaller():
            parsed(smaller.text())
            assert smaller != program


def test_smaller_programs_have_less():
    shapes = [
        (len(each.arguments), len(each.steps), [value.name for value in each.results])
        for each in _chain().smaller()
    ]

    assert shapes == [
        (1, 2, ["c"]),
        (1, 3, ["d"]),
        (1, 2, ["c"]),
        (1, 3, ["d", "b"]),
        (1, 2, ["c", "d"]),
    ]


def test_disagreements_are_found():
    case = make_case(_chain().text())
    right = case.expected

    assert disagreement(case, right) is None
    assert disagreement(case, right[:1]) == "expected 2 results, got 1"
    wrong = right[1].copy()
    wrong[2] *= 1.001
    assert "result 1: error" in str(disagreement(case, (right[0], wrong)))
    wrong[2] = float("nan")
    assert "result 1: error nan" in str(disagreement(case, (right[0], wrong)))
    short = (right[0], right[1][:2])
    assert "expected float32 (4,), got float32 (2,)" in str(disagreement(case, short))
