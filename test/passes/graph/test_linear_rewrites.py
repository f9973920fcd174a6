"""
Normalizations of channels in filters, products that are merged, and factors that move
round no worse than the programs as they were: 1,020 random inputs for each type.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
from cascade_programs import run
from differential import parsed
from special_values import DTYPE
from xdsl.dialects.builtin import ModuleOp

from tlf.dialects.interfaces import Array
from tlf.dialects.interpreters.interpret import interpret

UNIT = {"f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}

SHAPES, DRAWS = 20, 51

Shapes = Mapping[str, tuple[int, ...]]
Form = Callable[[np.random.Generator, str], tuple[str, Shapes]]


def _type(shape: tuple[int, ...], element: str) -> str:
    return f"tensor<{''.join(f'{n}x' for n in shape)}{element}>"


def normalized(rng: np.random.Generator, element: str) -> tuple[str, Shapes]:
    """A convolution with a bias, and a normalization of its channels."""
    n, c, o, h, k = (
        int(each) for each in rng.integers([1, 1, 1, 3, 1], [3, 6, 6, 7, 4])
    )
    made, sizes = (n, o, h - k + 1, h - k + 1), {"x": (n, c, h, h), "w": (o, c, k, k)}
    shapes: Shapes = sizes | dict.fromkeys(("b", "m", "v", "g", "s"), (o,))
    types = {name: _type(shape, element) for name, shape in shapes.items()}
    taken = ", ".join(
        f"%{name}: {type_}{'' if name == 'x' else ' {tlf.parameter}'}"
        for name, type_ in types.items()
    )
    y, p = _type(made, element), types["m"]
    return (
        f"""
func.func @main({taken}) -> {y} {{
  %0 = graph.conv2d %x, %w : ({types["x"]}, {types["w"]}) -> {y}
  %1 = graph.reshape %b : ({p}) -> {_type((o, 1, 1), element)}
  %2 = graph.add %0, %1 : ({y}, {_type((o, 1, 1), element)}) -> {y}
  %y = graph.batch_norm %2 mean %m variance %v weight %g bias %s epsilon 1.0e-03
      : ({y}, {p}, {p}, {p}, {p}) -> {y}
  func.return %y : {y}
}}
""",
        shapes,
    )


def merged(rng: np.random.Generator, element: str) -> tuple[str, Shapes]:
    """Queries, keys and values of the same rows, with biases."""
    rows, inner, *columns = (int(each) for each in rng.integers(1, 20, 5))
    lines, names, types = "", list[str](), list[str]()
    shapes: dict[str, tuple[int, ...]] = {"x": (rows, inner)}
    for name, n in zip("qkv", columns, strict=True):
        shapes |= {f"w{name}": (inner, n), f"b{name}": (n,)}
        y = _type((rows, n), element)
        given = [_type(shapes[each], element) for each in ("x", f"w{name}", f"b{name}")]
        lines += f"""
  %p{name} = graph.matmul %x, %w{name} : ({given[0]}, {given[1]}) -> {y}
  %{name} = graph.add %p{name}, %b{name} : ({y}, {given[2]}) -> {y}"""
        names.append(f"%{name}")
        types.append(y)
    taken = ", ".join(
        f"%{name}: {_type(shape, element)}{'' if name == 'x' else ' {tlf.parameter}'}"
        for name, shape in shapes.items()
    )
    values, made = ", ".join(names), ", ".join(types)
    return (
        f"func.func @main({taken}) -> ({made}) {{{lines}\n"
        f"  func.return {values} : {made}\n}}\n",
        shapes,
    )


def scaled(rng: np.random.Generator, element: str) -> tuple[str, Shapes]:
    """Scaled scores, divided by a number of each row, times values."""
    low, high = [1, 8, 1, 1], [20, 20, 20, 8]
    rows, columns, inner, depth = (int(each) for each in rng.integers(low, high))
    shapes: dict[str, tuple[int, ...]] = {
        "q": (rows, inner),
        "k": (inner, columns),
        "v": (columns, depth),
    }
    shapes["m"] = (rows, 1)
    q, k, v, m = (_type(shapes[each], element) for each in "qkvm")
    s, y = _type((rows, columns), element), _type((rows, depth), element)
    return (
        f"""
func.func @main(%q: {q}, %k: {k}, %v: {v}, %m: {m}) -> {y} {{
  %c = graph.constant dense<0.3> : tensor<{element}>
  %0 = graph.matmul %q, %k : ({q}, {k}) -> {s}
  %1 = graph.mul %0, %c : ({s}, tensor<{element}>) -> {s}
  %2 = graph.div %1, %m : ({s}, {m}) -> {s}
  %y = graph.matmul %2, %v : ({s}, {v}) -> {y}
  func.return %y : {y}
}}
""",
        shapes,
    )


def shared(rng: np.random.Generator, element: str) -> tuple[str, Shapes]:
    """Rows divided by a number each, times two tensors."""
    rows, columns = (int(each) for each in rng.integers([1, 12], [20, 20]))
    depths = [int(each) for each in rng.integers(1, 6, 2)]
    shapes: dict[str, tuple[int, ...]] = {"s": (rows, columns), "m": (rows, 1)}
    shapes |= {name: (columns, n) for name, n in zip("ab", depths, strict=True)}
    s, m, a, b = (_type(shapes[each], element) for each in "smab")
    y, z = (_type((rows, n), element) for n in depths)
    return (
        f"""
func.func @main(%s: {s}, %m: {m}, %a: {a}, %b: {b}) -> ({y}, {z}) {{
  %p = graph.div %s, %m : ({s}, {m}) -> {s}
  %y = graph.matmul %p, %a : ({s}, {a}) -> {y}
  %z = graph.matmul %p, %b : ({s}, {b}) -> {z}
  func.return %y, %z : {y}, {z}
}}
""",
        shapes,
    )


def spread(rng: np.random.Generator, element: str) -> tuple[str, Shapes]:
    """A product with a tensor that a reshape added axes of one element to."""
    batch, rows, columns, inner = (int(each) for each in rng.integers(2, 9, 4))
    axes = _mixed(rng, "bnk" + "uw"[: int(rng.integers(1, 3))])
    order, made = sorted("bnk", key=axes.index), _mixed(rng, axes.replace("k", "m"))
    extents = {"b": batch, "m": rows, "n": columns, "k": inner, "u": 1, "w": 1}

    def type_of(axes: Sequence[str]) -> str:
        return _type(tuple(extents[axis] for axis in axes), element)

    used = ", ".join(["m", *axes])
    maps = ", ".join(
        f"affine_map<({used}) -> ({', '.join(each)})>" for each in ("bmk", axes, made)
    )
    permutation = ["bnk".index(axis) for axis in order]
    x, y, t, s = map(type_of, ("bmk", "bnk", order, axes))
    return (
        f"""
func.func @main(%x: {x}, %y: {y}) -> {type_of(made)} {{
  %0 = graph.transpose %y permutation {permutation} : ({y}) -> {t}
  %1 = graph.reshape %0 : ({t}) -> {s}
  %2 = graph.contract %x, %1 maps [{maps}] : ({x}, {s}) -> {type_of(made)}
  func.return %2 : {type_of(made)}
}}
""",
        {"x": (batch, rows, inner), "y": (batch, columns, inner)},
    )


def _mixed(rng: np.random.Generator, axes: str) -> str:
    """Axes in another order."""
    return "".join(axes[int(place)] for place in rng.permutation(len(axes)))


FORMS: Mapping[str, tuple[Form, str]] = {
    "normalized": (normalized, "graph-fold-batch-norm,canonicalize,dce"),
    "merged": (merged, "graph-merge-matmuls,canonicalize,dce"),
    "scaled": (
        scaled,
        "graph-hoist-scales,graph-decompose,graph-hoist-scales,canonicalize",
    ),
    "shared": (shared, "graph-hoist-scales,canonicalize"),
    "spread": (spread, "graph-fold-transposes,canonicalize"),
}
"""Programs, and the passes that rewrite them."""


def drawn(rng: np.random.Generator, shapes: Shapes, element: str) -> dict[str, Array]:
    """Random inputs, with variances and divisors `v` and `m` of at least 0.5."""
    found: dict[str, Array] = {}
    for name, shape in shapes.items():
        positive = (name in "vm" and "w" in shapes) or name == "m"
        values = rng.standard_normal(shape)
        found[name] = np.asarray(0.5 + abs(values) if positive else values)
    return {name: each.astype(DTYPE[element]) for name, each in found.items()}


def changed(text: str, passes: str) -> ModuleOp:
    context, module = parsed(text)
    run(passes, context, module)
    module.verify()
    return module


def error(found: Array, wanted: Array) -> float:
    return float(np.abs(found.astype(np.float64) - wanted.astype(np.float64)).max())


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("element", UNIT)
def test_errors(element: str, name: str, draws: Callable[[int], int]):
    """At most four times the errors of the program as it was, against f64."""
    form, passes = FORMS[name]
    rng = np.random.default_rng(len(passes))
    for _ in range(draws(SHAPES)):
        text, shapes = form(rng, element)
        whole, made = parsed(text)[1], changed(text, passes)
        exact = parsed(
            text.replace(f"x{element}>", "xf64>").replace(f"<{element}>", "<f64>")
        )[1]
        worst, usual, unit = 0.0, 0.0, 0.0
        assert str(made) != str(whole)
        for _ in range(DRAWS):
            inputs = drawn(rng, shapes, element)
            wide = {name: each.astype(np.float64) for name, each in inputs.items()}
            rights = interpret(exact, wide)
            for right, before, after in zip(
                rights, interpret(whole, inputs), interpret(made, inputs), strict=True
            ):
                worst = max(worst, error(after, right))
                usual = max(usual, error(before, right))
                unit = max(unit, UNIT[element] * float(np.abs(right).max()))

        assert worst <= 4 * max(usual, unit)
