"""Programs of the `mem` dialect for tests."""

from collections.abc import Sequence


def memref(shape: Sequence[int], dtype: str, level: str) -> str:
    return f'memref<{"".join(f"{size}x" for size in shape)}{dtype}, "{level}">'


def wrapped(
    arguments: Sequence[tuple[Sequence[int], str]], results: int, body: str
) -> str:
    """
    Return a function that moves its arguments (%x0, ...) to L1 (%a0, ...) and computes.

    The last `results` of them are moved back as results.
    """
    lines: list[str] = []
    back: list[str] = []
    for index, (shape, dtype) in enumerate(arguments):
        outer, middle, inner = (
            memref(shape, dtype, level) for level in ("L3", "L2", "L1")
        )
        box = f"[{', '.join('0' for _ in shape)}]"
        size = f"size {list(shape)}"
        lines += [
            f"%m{index} = mem.alloc : {middle}",
            f"%a{index} = mem.alloc : {inner}",
            f"%s{index} = mem.dma %x{index}{box} to %m{index}{box} {size} "
            f": {outer} to {middle}",
            f"mem.wait %s{index}",
            f"%t{index} = mem.dma %m{index}{box} to %a{index}{box} {size} "
            f": {middle} to {inner}",
            f"mem.wait %t{index}",
        ]
        if index >= len(arguments) - results:
            back += [
                f"%u{index} = mem.dma %a{index}{box} to %m{index}{box} {size} "
                f": {inner} to {middle}",
                f"mem.wait %u{index}",
                f"%v{index} = mem.dma %m{index}{box} to %y{index}{box} {size} "
                f": {middle} to {outer}",
                f"mem.wait %v{index}",
            ]
    names = [f"%x{n}: {memref(*each, 'L3')}" for n, each in enumerate(arguments)]
    names += [
        f"%y{n}: {memref(*each, 'L3')}"
        for n, each in enumerate(arguments)
        if n >= len(arguments) - results
    ]
    return (
        f"func.func @main({', '.join(names)}) attributes "
        f"{{tlf.results = {results} : i64}} {{\n"
        + "\n".join([*lines, body, *back, "func.return", "}"])
    )
