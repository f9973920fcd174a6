"""Programs that are none, and the message for each."""

import base64
from pathlib import Path

import numpy as np
import pytest

from tlf.runtime.npu import NPUInputError, NPUParseError, parse, run
from tlf.runtime.npu.dtypes import DTYPES

VECTOR = "vector add dst=L1[64](4):f32 a=L1[0](4):f32 "
MATMUL = "matmul c=L1[0](4,4):f32 a=L1[0](4,4):f32 b=L1[0](4,4):f32 batch=() "
DMA = "dma dma_l3_l2 dst=L2[0](4) "


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("jump 5", "expected an instruction"),
        ("vector add ?", "expected a token, got `?`"),
        ("%a = shl 1 2", "expected a scalar operation"),
        ("%a = add 1", "expected a register or an integer, got the end of the line"),
        ("%a = add 1 2 3", "expected the end of the line, got `3`"),
        ("%a = add 1 1.5", "expected a register or an integer, got `1.5`"),
        ("%a = mov %b", "expected a register that an earlier line defines, got `%b`"),
        ("loop %i = 0 to 4 step 1", "expected `{`, got the end of the line"),
        ("loop %i 0 to 4 {", "expected `=`, got `0`"),
        ("}", "expected an instruction, got `}`"),
        ("halt\nhalt", "expected nothing after `halt`, got `halt`"),
        ("loop %i = 0 to 4 {\nhalt", "expected `}`, got `halt` in a loop"),
        ("signal gpu s0", "expected an engine"),
        ("signal vector s8", "expected a semaphore, s0 to s7, got `s8`"),
        ("wait vector 0", "expected a semaphore, s0 to s7, got `0`"),
        ("vector frob dst=L1[0](4):f32", "expected a vector operation"),
        (VECTOR + "shape=(4)", "expected `b=`, got the end of the line"),
        (VECTOR + "b=#1 shape=(4) c=#1", "expected an operand"),
        (VECTOR + "b=#1 b=#1 shape=(4)", "expected an operand"),
        (VECTOR + "b=L4[0](4):f32 shape=(4)", "expected a level or an immediate"),
        (VECTOR + "b=L1[0](4) shape=(4)", "expected an element type after the address"),
        (VECTOR + "b=L1[0](4):f64 shape=(4)", "expected an element type (f32"),
        (VECTOR + "b=L1[0](4):f16 shape=(4)", "expected operands of f32, f32, got f32"),
        (VECTOR + "b=L1[0](4,4):f32 shape=(4)", "expected 1 strides of `b`, one per"),
        (VECTOR + "b=#1 shape=(-4)", "expected a size of at least 0, got -4"),
        (VECTOR + "b=#1 shape=(4", "expected `,`, got the end of the line"),
        (VECTOR + "b=#x shape=(4)", "expected a number, got `x`"),
        ("vector fill dst=#1 a=#1 shape=()", "expected an address for `dst`"),
        (
            "vector fill dst=L1[0](4,4,4,4,4,4):f32 a=#1 shape=(1,1,1,1,1,1)",
            "expected up to 5 dimensions, got 6",
        ),
        ("vector exp dst=L1[0]():i32 a=#1 shape=()", "exp does not take i32"),
        ("vector copy dst=L1[0]():i8 a=#300:i8 shape=()", "300 is not a value of i8"),
        ("vector neg dst=L1[0]():i8 a=#1.5 shape=()", "1.5 is not a value of i8"),
        ("vector neg dst=L1[0]():i8 a=#nan shape=()", "nan is not a value of i8"),
        (
            "vector neg dst=L1[0]():f16 a=#1:f32 shape=()",
            "expected a result of f32, got f16",
        ),
        (
            "vector cmp.eq dst=L1[0]():f32 a=#1 b=#2 shape=()",
            "expected a result of i1, got f32",
        ),
        (
            "vector select dst=L1[0]():f32 a=#1 b=#2 c=L1[0]():i8 shape=()",
            "expected operands of f32, f32, i1, got f32, f32, i8",
        ),
        ("reduce mean dst=L1[0](0):f32", "expected a reduction (sum, prod, max, min)"),
        (
            "reduce sum dst=L1[0](4):f32 a=L1[0](4):f32 shape=(4) axes=(0)",
            "expected stride 0 of `dst` on axes (0), got (4)",
        ),
        (
            "reduce sum dst=L1[0](0):f32 a=L1[0](4):f32 shape=(4) axes=(1)",
            "expected increasing axes below 1, got (1)",
        ),
        (
            "reduce sum dst=L1[0](0):f16 a=L1[0](4):f32 shape=(4) axes=(0)",
            "expected a result of f32, got f16",
        ),
        (
            "reduce sum dst=L1[0](0):i1 a=L1[0](1):i1 shape=(4) axes=(0)",
            "sum does not take i1",
        ),
        (MATMUL + "m=(1) n=(1)", "expected `k=`, got the end of the line"),
        (MATMUL + "m=(1,1,1,1) n=(1) k=(1)", "expected up to 3 dimensions in `m`"),
        (MATMUL + "m=(1) n=(1,1) k=(1)", "expected 3 strides of `b`"),
        (
            MATMUL.replace("c=L1[0](4,4):f32", "c=L1[0](4,4):f16")
            + "m=(1) n=(1) k=(1)",
            "no product of f32 and f32 with result f16 on matrix",
        ),
        (
            MATMUL.replace("f32", "i64") + "m=(1) n=(1) k=(1)",
            "no product of i64 and i64 with result i64 on matrix",
        ),
        (
            MATMUL.replace(
                "a=L1[0](4,4):f32 b=L1[0](4,4):f32", "a=L1[0](4,4):f16 b=L1[0](4,4):f16"
            )
            + "m=(1) n=(1) k=(1) precision=tf32",
            "expected f32 for precision tf32, got f16",
        ),
        ("dma vector dst=L2[0](4)", "expected a dma engine"),
        (
            DMA + "src=L1[0](4) shape=(4) type=f32",
            "dma_l3_l2 moves from L3 to L2, got L1 to L2",
        ),
        (
            DMA + "src=L3[0](4) shape=(4) type=f32 inside=(0:1,0:1)",
            "expected 1 ranges in `inside`, one per dimension, got 2",
        ),
        (
            DMA + "src=L3[0](4):i32 shape=(4) type=f32",
            "expected `src` of f32, got i32",
        ),
        (DMA + "src=L3[0](4) shape=(4)", "expected `type=`, got the end of the line"),
    ],
)
def test_code(machine: str, code: str, reason: str):
    with pytest.raises(NPUParseError) as caught:
        parse(machine + ".code\n" + code + ("" if "halt" in code else "\nhalt"))
    assert reason in caught.value.reason
    first = machine.count("\n") + 2
    assert caught.value.line == first + (code.count("\n") if "halt" in code else 0)
    assert str(caught.value).startswith(f"line {caught.value.line}: ")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("hello", "expected a directive, got `hello`"),
        (".level L3 capacity=1 bandwidth=1", "expected a new level, got L3"),
        (".level L4 capacity=1", "expected `bandwidth=`"),
        (".level L4 capacity=x bandwidth=1", "expected an integer of at least 0 for"),
        (".level L4 capacity=1 bandwidth=0", "expected a number over 0 for"),
        (".level L4 capacity=1 bandwidth=1 shared=1", "expected true or false for"),
        (
            ".engine m from=L3 to=L2 pipelined=false",
            "expected no key `pipelined`",
        ),
        (".level L4 capacity=1 bandwidth=1 burst=0", "expected an integer of at least"),
        (".level L4 capacity=1 bandwidth=1 color=red", "expected no key `color`"),
        (".level L4 capacity", "expected key=value with a new key, got `capacity`"),
        (".engine vector lanes=1", "expected a new engine, got vector"),
        (".engine dma from=L3 to=L9", "expected a level (L3, L2, L1), got `L9`"),
        (".engine dma from=L3 to=L3", "expected two levels, got L3 twice"),
        (".engine dma from=L3", "expected `to=`"),
        (".semaphores many", "expected a number of semaphores, got `many`"),
        (".input x L3 0 f32", "expected a name, a level, an address, an element type"),
        (".input x L9 0 f32 4", "expected a level (L3, L2, L1), got `L9`"),
        (".input x L3 -32 f32 4", "expected an address, got `-32`"),
        (".input x L3 4 f32 4", "expected an address at a multiple of 32, got 4"),
        (".input x L3 0 f64 4", "expected an element type (f32"),
        (".input x L3 0 f32 4x", "expected a shape such as 4x8 or scalar, got ``"),
        (".input x L1 262136 f32 4", "expected an end within the 262144 bytes of L1"),
        (".input x L3 0 f32 4\n.input x L2 0 f32 4", "expected a new name, got `x`"),
        (".input x L3 0 f32 9\n.input z L3 32 f32 4", "`z` overlaps `x`"),
        (".const c L3 0 f32 2 AAAA", "expected 8 bytes of contents, got 3"),
        (".const c L3 0 f32 2 !!", "expected the contents in base64"),
        (".const c L3 0 f32 2", "expected `file=`"),
        ('.const c L3 0 f32 2 file="a b', "expected a closing quote"),
        (
            '.const c L3 0 f32 2 file="none.npz" key=k',
            "expected `k` in a file none.npz",
        ),
    ],
)
def test_directive(machine: str, line: str, reason: str, tmp_path: Path):
    with pytest.raises(NPUParseError) as caught:
        parse(machine + line + "\n.code\nhalt\n", tmp_path)
    assert reason in caught.value.reason


@pytest.mark.parametrize("text", ["", ".npu 2\n.code\nhalt", "halt"])
def test_version(text: str):
    with pytest.raises(NPUParseError, match=r"expected `.npu 1`"):
        parse(text)


def test_no_code(machine: str):
    with pytest.raises(NPUParseError, match=r"expected `.code`, got the end"):
        parse(machine)


def test_missing_engine(machine: str):
    text = "\n".join(
        line for line in machine.splitlines() if not line.startswith(".engine")
    )
    for code in ("vector fill", "reduce sum", "matmul"):
        with pytest.raises(NPUParseError, match="the machine has no engine"):
            parse(f"{text}\n.code\n{code}\nhalt")


@pytest.mark.parametrize("dtype", DTYPES)
def test_constants(machine: str, dtype: str, tmp_path: Path):
    """In the text or in a file next to it, bf16 included."""
    array = np.array([[1, 0, 1], [0, 0, 1]]).astype(DTYPES[dtype])
    np.savez(tmp_path / "my weights.npz", k=array)
    words = f"L1 0 {dtype} 2x3 {base64.b64encode(array.tobytes()).decode()}"
    other = f'L1 64 {dtype} 2x3 file="my weights.npz" key="k" ; a comment'
    text = f"{machine}.const a {words}\n.const b {other}\n"
    for name, address in (("a", 0), ("b", 64)):
        text += f".output {name} L1 {address} {dtype} 2x3\n"
    outputs = run(parse(text + ".code\nhalt\n", tmp_path), {}).outputs
    assert outputs["a"].dtype == array.dtype
    assert np.array_equal(outputs["a"], array)
    assert np.array_equal(outputs["b"], array)


def test_constant_of_another_shape(machine: str, tmp_path: Path):
    np.savez(tmp_path / "w.npz", k=np.zeros((3, 2), np.float32))
    text = machine + ".const a L1 0 f32 2x3 file=w.npz key=k\n.code\nhalt\n"
    with pytest.raises(
        NPUParseError, match="expected f32 2x3 under `k`, got float32 3"
    ):
        parse(text, tmp_path)


def test_blanks_and_comments(machine: str):
    """Blanks are free between tokens; a comment runs to the end of the line."""
    text = (
        machine
        + """
    .output y L1 64 f32 2   ; a result
    .code                   ; the code
      ; nothing
      %a = mov 60
      vector fill dst = L1[ %a + 4 ] ( 4, ) : f32 a = # -1.5e0 shape=( 2 )   ; done
    halt
    """.replace("%a + 4", "%a +4")
    )
    assert run(parse(text), {}).outputs["y"].tolist() == [-1.5, -1.5]


def test_inputs(machine: str):
    program = parse(machine + ".input x L1 0 bf16 2x3\n.code\nhalt\n")
    with pytest.raises(NPUInputError, match="expected inputs x, got `z`"):
        run(program, {"z": np.zeros(3)})
    with pytest.raises(
        NPUInputError, match="expected an array for input `x`, got none"
    ):
        run(program, {})
    with pytest.raises(
        NPUInputError, match="expected bf16 2x3 for input `x`, got float32 2x3"
    ):
        run(program, {"x": np.zeros((2, 3), np.float32)})
    with pytest.raises(NPUInputError, match="got bfloat16 scalar"):
        run(program, {"x": np.zeros((), DTYPES["bf16"])})


def test_scalar_operands_are_apart(machine: str):
    """A negative operand of a scalar operation is no part of the register before it."""
    text = """
    .output y L1 0 i32 1
    .code
      %a = mov 7
      %b = add %a -3
      vector fill dst=L1[%b-4](4):i32 a=#5 shape=(1)
    halt
    """
    assert run(parse(machine + text), {}).outputs["y"].tolist() == [5]
