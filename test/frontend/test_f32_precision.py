"""Precision of f32 products: by request, or by PyTorch's switches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import fx, nn
from torch._subclasses.fake_tensor import FakeTensor
from xdsl.dialects.builtin import ModuleOp, StringAttr

import tlf
from tlf.compiler.api import torch_subgraphs
from tlf.compiler.api.torch_settings import Settings
from tlf.frontend.torch import from_torch
from tlf.frontend.torch.export import decompose_program, export_module
from tlf.frontend.torch.f32_precision import F32Precision, follows_convolution_switch
from tlf.frontend.torch.graph_import import ImportedFunction, import_graph

Case = tuple[Callable[[], nn.Module], tuple[int, ...]]


class SelfAttention(nn.Module):
    """Attention of a tensor to itself."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.scaled_dot_product_attention(x, x, x)


class ConvolutionAndProduct(nn.Module):
    """A convolution and a product."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(4, 4, 1)
        self.linear = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(self.conv(x))


PRODUCTS: Mapping[str, Case] = {
    "with bias": (lambda: nn.Linear(4, 8), (2, 4)),
    "batched": (lambda: nn.Linear(4, 8, bias=False), (2, 3, 4)),
    "attention": (SelfAttention, (1, 2, 3, 4)),
    "layer": (lambda: nn.MultiheadAttention(4, 2), (3, 1, 4)),
}
CONVOLUTIONS: Mapping[str, Case] = {
    "1d": (lambda: nn.Conv1d(2, 3, 3), (1, 2, 8)),
    "2d in groups": (lambda: nn.Conv2d(4, 6, 3, groups=2), (1, 4, 8, 8)),
    "3d": (lambda: nn.Conv3d(2, 3, 2), (1, 2, 4, 4, 4)),
    "transposed": (lambda: nn.ConvTranspose2d(4, 2, 3, stride=2), (1, 4, 5, 5)),
    "transposed 3d": (lambda: nn.ConvTranspose3d(2, 2, 3, 2), (1, 2, 3, 3, 3)),
    "transposed 3d in groups": (
        lambda: nn.ConvTranspose3d(4, 4, 3, 2, groups=2),
        (1, 4, 3, 3, 3),
    ),
}
NAMES = "`ieee`, `bf16x6`, `tf32x3`, `tf32`"
BOTH: Case = (ConvolutionAndProduct, (1, 4, 8))


def _precisions(module: ModuleOp) -> list[str]:
    """Return the precisions of the products of a program, without repetitions."""
    found = (op.properties.get("precision") for op in module.walk())
    return list(
        dict.fromkeys(each.data for each in found if isinstance(each, StringAttr))
    )


def _make(case: Case, dtype: torch.dtype) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    make, shape = case
    module = make().eval().to(dtype)
    x = torch.ones(shape, dtype=dtype)
    return module, (x, x, x) if isinstance(module, nn.MultiheadAttention) else (x,)


def _export_on_cuda(case: Case) -> fx.GraphModule:
    """Export a module as if its tensors were on a GPU."""
    program = decompose_program(export_module(*_make(case, torch.float32)))
    for node in program.graph.nodes:
        if isinstance(value := node.meta.get("val"), FakeTensor):
            node.meta["val"] = FakeTensor(
                value.fake_mode, value.to("meta"), torch.device("cuda")
            )
    return program.graph_module


def _import_on_cuda(case: Case, precision: F32Precision | None = None) -> ModuleOp:
    return import_graph(_export_on_cuda(case), f32_precision=precision).module


@pytest.fixture(autouse=True)
def default_switches() -> Iterator[None]:
    """
    Restore the defaults of PyTorch's switches after a test. Other tests may have
    forbidden to set them outside of a context.
    """
    allow_assignments: Any = getattr(torch.backends, "__allow_nonbracketed_mutation")
    with allow_assignments():
        yield
        torch.backends.cudnn.allow_tf32 = True
        torch.backends.cuda.matmul.allow_tf32 = False


@pytest.mark.one_in(3 / 8)
@pytest.mark.parametrize("precision", ["ieee", "tf32", "tf32x3"])
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_have_the_precision_requested(name: str, precision: str):
    module, inputs = _make(PRODUCTS[name], torch.float32)
    option = {"matmul": precision, "conv": "ieee"}
    program = from_torch(module, inputs, f32_precision=option)
    assert _precisions(program.module) == [precision]


@pytest.mark.one_in(3 / 8)
@pytest.mark.parametrize("precision", ["ieee", "tf32", "tf32x3"])
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_have_the_precision_requested(name: str, precision: str):
    module, inputs = _make(CONVOLUTIONS[name], torch.float32)
    option = {"conv": precision}
    program = from_torch(module, inputs, f32_precision=option)
    assert _precisions(program.module) == [precision]


@pytest.mark.one_in(3 / 4)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("case", [*PRODUCTS.values(), *CONVOLUTIONS.values()])
def test_other_types_have_none(case: Case, dtype: torch.dtype):
    program = from_torch(*_make(case, dtype), f32_precision="tf32")
    assert _precisions(program.module) == ["ieee"]


def test_tensors_on_the_host_are_multiplied_exactly():
    torch.set_float32_matmul_precision("high")
    assert _precisions(from_torch(*_make(BOTH, torch.float32)).module) == ["ieee"]


def _allow_in_products() -> None:
    torch.backends.cuda.matmul.allow_tf32 = True


def _set_products(value: str) -> None:
    backends: Any = torch.backends
    backends.cuda.matmul.fp32_precision = value


def _forbid_in_convolutions() -> None:
    torch.backends.cudnn.allow_tf32 = False


@pytest.mark.parametrize(
    ("switch", "precisions"),
    [
        (lambda: None, ["tf32", "bf16x6"]),
        (lambda: torch.set_float32_matmul_precision("high"), ["tf32"]),
        (lambda: torch.set_float32_matmul_precision("medium"), ["tf32"]),
        (lambda: torch.set_float32_matmul_precision("highest"), ["tf32", "bf16x6"]),
        (_allow_in_products, ["tf32"]),
        (_forbid_in_convolutions, ["bf16x6"]),
        (lambda: _set_products("tf32"), ["tf32"]),
    ],
)
def test_switches_of_pytorch_hold_on_a_gpu(
    switch: Callable[[], None], precisions: list[str]
):
    switch()
    assert _precisions(_import_on_cuda(BOTH)) == precisions


def test_a_request_comes_before_the_switches():
    requested = F32Precision.from_option({"matmul": "tf32x3"})
    assert _precisions(_import_on_cuda(BOTH, requested)) == ["tf32", "tf32x3"]
    requested = F32Precision.from_option("ieee")
    assert _precisions(_import_on_cuda(BOTH, requested)) == ["ieee"]


def test_attention_follows_requests_only():
    torch.set_float32_matmul_precision("high")
    case = PRODUCTS["attention"]
    assert _precisions(_import_on_cuda(case)) == ["bf16x6"]
    requested = F32Precision.from_option("tf32")
    assert _precisions(_import_on_cuda(case, requested)) == ["tf32"]


@pytest.mark.parametrize(
    ("name", "precision"),
    [
        ("3d", "bf16x6"),
        ("transposed 3d", "tf32"),
        ("transposed 3d in groups", "bf16x6"),
    ],
)
def test_convolutions_of_volumes_follow_requests_only(name: str, precision: str):
    case = CONVOLUTIONS[name]
    assert _precisions(_import_on_cuda(case)) == [precision]
    for each in ("tf32", "ieee"):
        requested = F32Precision.from_option({"conv": each})
        assert _precisions(_import_on_cuda(case, requested)) == [each]


def test_compile_takes_the_precision():
    module, inputs = _make(BOTH, torch.float32)
    compiled = tlf.compile(module, inputs, f32_precision={"conv": "tf32"})
    assert compiled.ir().count('precision "tf32"') == 1
    with pytest.raises(TypeError, match="f32_precision for a module only, got a prog"):
        tlf.compile(from_torch(module, inputs), f32_precision="tf32")


def test_the_cache_distinguishes_precisions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TLF_CACHE", "1")
    monkeypatch.setenv("TLF_CACHE_DIR", str(tmp_path / "cache"))
    module, inputs = _make(PRODUCTS["with bias"], torch.float32)
    hits = [
        tlf.compile(module, inputs, target="npu", f32_precision=precision).is_cached
        for precision in ("ieee", "tf32x3", "ieee")
    ]
    assert hits == [False, False, True]


def test_compiled_graphs_follow_the_switch_of_convolutions(
    monkeypatch: pytest.MonkeyPatch,
):
    """PyTorch does not compile again after it changes."""
    imports: list[fx.GraphModule] = []

    def imported(source: fx.GraphModule, **options: Any) -> ImportedFunction:
        imports.append(source)
        return import_graph(source, **options)

    def follows(graph: fx.Graph, requested: F32Precision) -> bool:
        return True

    monkeypatch.setattr(torch_subgraphs, "import_graph", imported)
    monkeypatch.setattr(torch_subgraphs, "follows_convolution_switch", follows)
    library: Any = torch
    module, (x,) = _make(BOTH, torch.float32)
    options = {"target": "reference", "fallback": "strict"}
    run = library.compile(module, backend="tlf", options=options)
    counts = list[int]()
    with torch.no_grad():
        for allows in (True, True, False, True, False):
            torch.backends.cudnn.allow_tf32 = allows
            torch.testing.assert_close(run(x), module(x))
            counts.append(len(imports))
    assert counts == [1, 1, 2, 2, 2]


def test_only_convolutions_of_f32_on_a_gpu_follow_the_switch():
    graph = _export_on_cuda(BOTH).graph
    assert follows_convolution_switch(graph, F32Precision())
    assert follows_convolution_switch(graph, F32Precision(matmul="ieee"))
    assert not follows_convolution_switch(graph, F32Precision(conv="tf32"))
    products = _export_on_cuda(PRODUCTS["with bias"]).graph
    assert not follows_convolution_switch(products, F32Precision())
    for dtype in (torch.float32, torch.bfloat16):
        program = decompose_program(export_module(*_make(BOTH, dtype)))
        assert not follows_convolution_switch(program.graph, F32Precision())


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("fast", f"expected f32_precision {NAMES}, got fast"),
        ({"conv": "bf16"}, f"expected f32_precision {NAMES}, got bf16"),
        (
            {"rnn": "tf32"},
            "expected f32_precision of `matmul` and `conv`, got of `rnn`",
        ),
        (1, "expected f32_precision to be a name or two, got 1"),
    ],
)
def test_invalid_options(option: object, message: str):
    with pytest.raises(ValueError, match=message):
        Settings.from_options({"f32_precision": option})


def test_the_backend_of_torch_compile_takes_the_precision():
    settings = Settings.from_options({"f32_precision": {"conv": "tf32"}})
    assert settings.f32_precision == F32Precision(conv="tf32", conv3d="tf32")
    module, (x,) = _make(BOTH, torch.float32)
    options = {"target": "reference", "f32_precision": "tf32x3", "fallback": "strict"}
    library: Any = torch
    with torch.no_grad():
        found = library.compile(module, backend="tlf", options=options)(x)
        torch.testing.assert_close(found, module(x))
