"""Programs of the `mem` dialect for tests."""

from collections.abc import Sequence


def memref(shape: Sequence[int], dtype: str, level: str) -> str:
    return f'memref<{"".join(f"{size}x" for size in shape)}{dtype}, "{level}">'


def wrapped(
    arguments: Sequence[tuple[Sequence[int], str]], results: int, body: str
) -> str:
    """
    A function that brings its arguments (%x0, ...) to L1 (%a0, ...), computes, and
    takes the last ones back.
    """
    lines: list[str] = []
    back: list[str] = []
    for number, (shape, dtype) in enumerate(arguments):
        far, mid, near = (memref(shape, dtype, level) for level in ("L3", "L2", "L1"))
        box = f"[{', '.join('0' for _ in shape)}]"
        size = f"size {list(shape)}"
        lines += [
            f"%m{number} = mem.alloc : {mid}",
            f"%a{number} = mem.alloc : {near}",
            f"%s{number} = mem.dma %x{number}{box} to %m{number}{box} {size} "
            f": {far} to {mid}",
            f"mem.wait %s{number}",
            f"%t{number} = mem.dma %m{number}{box} to %a{number}{box} {size} "
            f": {mid} to {near}",
            f"mem.wait %t{number}",
        ]
        if number >= len(arguments) - results:
            back += [
                f"%u{number} = mem.dma %a{number}{box} to %m{number}{box} {size} "
                f": {near} to {mid}",
                f"mem.wait %u{number}",
                f"%v{number} = mem.dma %m{number}{box} to %y{number}{box} {size} "
                f": {mid} to {far}",
                f"mem.wait %v{number}",
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
