"""Arguments, results and side effects of modules: all that is not their arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils import _pytree as pytree
from torch_check import T, assert_close, compiled_by_backend

import tlf
from tlf.compiler.api.torch_module import compile_module
from tlf.frontend.torch.import_errors import ImportFailure


@dataclass(frozen=True)
class Call:
    """A function and what it is called with."""

    name: str
    text: str
    """The function in Python, where `T` is torch and `F` is torch.nn.functional."""
    arguments: Sequence[Any]
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def function(self) -> Callable[..., Any]:
        """The function itself."""
        return eval(self.text, {**globals(), "F": functional})


def normal(*shape: int) -> Tensor:
    return T.randn(shape, generator=T.Generator().manual_seed(sum(shape)))


def scaled(x: Tensor, *, scale: Tensor, shift: Tensor | None = None) -> Tensor:
    return x * scale if shift is None else x * scale + shift


def chosen(x: Tensor, other: Tensor | None, y: Tensor) -> Tensor:
    return x + y if other is None else x - other


def one_element(x: Tensor) -> tuple[Tensor, ...]:
    return x.sum(), x * 2, x.softmax(-1), x.amax(), x.reshape(()), x.expand(2, 1)


EMPTY: Tensor = T.empty(0, 3)
MARKS: Tensor = T.arange(7) % 3 == 0
PARTS = {"a": normal(3, 4), "b": [normal(4), (normal(3, 1),)]}

CALLS = [
    Call(
        "dictionary",
        "lambda d: {'sum': d['a'] + d['b'][0], 'pair': (d['b'][1][0], [d['a'] * 2])}",
        [PARTS],
    ),
    Call(
        "tuple", "lambda p, x: (p[0] + p[1][0], x)", [(normal(3), (normal(3),)), MARKS]
    ),
    Call("keywords", "scaled", [normal(3, 4)], {"scale": normal(4)}),
    Call(
        "keywords in another order",
        "scaled",
        [normal(3, 4)],
        {"shift": normal(3, 1), "scale": normal(4)},
    ),
    Call("None by keyword", "scaled", [normal(3)], {"scale": normal(3), "shift": None}),
    Call("None", "chosen", [normal(3), None, normal(1)]),
    Call("number", "lambda x, n: x.view(n, -1) * n", [normal(6), 2]),
    Call("flag and text", "lambda x, f, t: x + f * len(t)", [normal(3), True, "ab"]),
    Call("numbers out", "lambda x: (x + 1, x.shape[0], 'a', 1.5, None)", [normal(3)]),
    Call("input out", "lambda x: (x, x.t(), x[0])", [normal(3, 4)]),
    Call("result twice", "lambda x: [x * 2] * 2", [normal(3)]),
    Call("no tensor in", "lambda: T.arange(4).float() * 2", []),
    Call("tensor inside", "lambda x: x + T.tensor([1.0, 2.0, 3.0])", [normal(2, 3)]),
    Call(
        "int64",
        "lambda x: (x // 3, x % 3, x / 3, x.sum(), x.amax())",
        [T.arange(-3, 4)],
    ),
    Call("int32", "lambda x: (x + x, x.sum(), x.float().mean())", [T.arange(7).int()]),
    Call("int8", "lambda x: (x + x, x.float() / 3)", [T.arange(-3, 4).to(torch.int8)]),
    Call("bool", "lambda x, m: (x.masked_fill(m, 0), ~m, m.sum())", [normal(7), MARKS]),
    Call(
        "not contiguous", "lambda x, y: x @ y", [normal(4, 3).t(), normal(4, 6)[:, ::2]]
    ),
    Call("expanded", "lambda x: x + 1", [normal(1, 3).expand(4, 3)]),
    Call(
        "channels last",
        "F.relu",
        [normal(2, 3, 4, 5).to(memory_format=torch.channels_last)],
    ),
    Call("0 axes", "lambda x: (x.sum(), x * 2, x.view(1), x.expand(3))", [normal()]),
    Call("1 element", "one_element", [normal(1)]),
    Call(
        "1 by 1", "lambda x: (x @ x, x.t(), x.mean(), x.var(1, False))", [normal(1, 1)]
    ),
    Call("cat of an empty one", "lambda x, y: T.cat([x, y])", [EMPTY, normal(2, 3)]),
    Call("cat of empty ones", "lambda x, y: T.cat([x, y])", [EMPTY, EMPTY]),
    Call("sum of an empty one", "lambda x, y: x.sum(0) + y", [EMPTY, normal(3)]),
    Call("mean of an empty one", "lambda x: (x.mean(), x.sum())", [EMPTY]),
    Call("empty product", "lambda x, y: x @ y", [normal(2, 3)[:, :0], EMPTY]),
    Call("empty rows", "nn.Linear(3, 4)", [EMPTY]),
    Call("empty slice", "lambda x: T.cat([x[:0], x])", [normal(2, 3)]),
]

every_call = pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)


class Named(nn.Module):
    """A function as a module that takes keywords too."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *arguments: Any, **options: Any) -> Any:
        return self.function(*arguments, **options)


def assert_same(found: Any, expected: Any) -> None:
    """The same structure, the same numbers, close tensors."""
    flatten: Any = pytree.tree_flatten
    mine, structure = flatten(found)
    theirs, wanted = flatten(expected)
    assert structure == wanted
    for one, other in zip(mine, theirs, strict=True):
        if isinstance(other, Tensor):
            assert_close(one, other, 1e-5)
        else:
            assert (type(one), one) == (type(other), other)


@every_call
def test_module(call: Call):
    module = Named(call.function)
    compiled = compile_module(module, call.arguments, call.options)
    with torch.no_grad():
        expected = module(*call.arguments, **call.options)
    assert_same(compiled(*call.arguments, **call.options), expected)


@pytest.mark.one_in(3 / 8)
@every_call
def test_backend(call: Call):
    compiled = compiled_by_backend(Named(call.function))
    with torch.no_grad():
        found = compiled(*call.arguments, **call.options)
        expected = call.function(*call.arguments, **call.options)
    assert_same(found, expected)


def test_other_constants_are_refused():
    compiled = compile_module(Named(chosen), [normal(3), None, normal(3)])
    with pytest.raises(TypeError, match="input 1: expected None, got 2"):
        compiled(normal(3), 2, normal(3))


class Add(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x + y


def test_wrong_structure_is_refused():
    compiled = compile_module(Add(), [normal(3), normal(3)])
    with pytest.raises(TypeError, match=r"a call like \(\*, \*\), got \(\*\)"):
        compiled(normal(3))
    with pytest.raises(TypeError, match=r"got \(\*, y=\*\)"):
        compiled(normal(3), y=normal(3))
    with pytest.raises(TypeError, match="input 1: expected a tensor, got str"):
        compiled(normal(3), "y")
    with pytest.raises(TypeError, match=r"`y`: expected shape \(3,\), got \(4,\)"):
        compiled(normal(3), normal(4))


class Inverse(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return T.linalg.inv(x) * 2


def test_effects_are_refused_by_name():
    with pytest.raises(ImportFailure, match=r"^no conversion of aten\._linalg_check"):
        compile_module(Inverse(), [T.eye(3)])


def test_errors_of_pytorch_are_one_line(capfd: pytest.CaptureFixture[str]):
    with pytest.raises(ImportFailure, match=r"^torch.export: .*\[2, 5\] X \[3, 4\]"):
        compile_module(nn.Linear(3, 4), [normal(2, 5)])
    assert "Traceback" not in capfd.readouterr().err


def test_what_is_in_no_other_module_is_called_as_in_the_graph():
    class Softmax(nn.Module):
        def forward(self, x: Tensor, y: Tensor) -> Tensor:
            return T.softmax(x @ y, -1).sum(-1)

    told = compile_module(Softmax(), (normal(7, 9), normal(9, 5)), target="npu")

    assert "softmax: softmax became" in told.explain()


def test_tensors_without_data():
    network, x = nn.Linear(3, 4), T.ones(2, 3)
    with pytest.raises(ImportFailure, match="`weight`: expected data, got a meta"):
        compile_module(nn.Linear(3, 4, device="meta"), (x,))
    with pytest.raises(TypeError, match="input 0: expected data, got a meta tensor"):
        compile_module(network, (x,))(x.to("meta"))


def test_inputs_that_are_no_tuple():
    with pytest.raises(ImportFailure, match="a tuple of example inputs, got Tensor"):
        compile_module(nn.Linear(3, 4), T.ones(2, 3))


def test_targets_that_do_not_exist(tmp_path: Path):
    network, inputs = nn.Linear(3, 4), (T.ones(2, 3),)
    with pytest.raises(tlf.CompileError, match=r"got `npux`, did you mean `npu`\?"):
        tlf.compile(network, inputs, target="npux")
    with pytest.raises(tlf.CompileError, match="cannot read target"):
        tlf.compile(network, inputs, target=str(tmp_path / "chip.toml"))


def test_names_of_the_package():
    assert {name: getattr(tlf, name) for name in tlf.__all__}
    assert tlf.__version__ == version("tlf")
    with pytest.raises(AttributeError, match="has no attribute 'compil'"):
        tlf.__getattr__("compil")
