"""
Import of PyTorch programs: precision of f32 matrix products and convolutions, by
request or by PyTorch's own switches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import torch
from torch import fx

from tlf.dialects.product_precision import FULL, IEEE, PRECISIONS

F32PrecisionOption: TypeAlias = str | Mapping[str, str] | None
"""
Option of compilations: one precision, those of `matmul` and `conv` by name, or `None`.
"""

ProductKind: TypeAlias = Literal["matmul", "conv", "conv3d", "attention"]
KINDS = ("matmul", "conv")
"""Kinds of products in the option."""


CONVOLUTION: Any = torch.ops.aten.convolution.default
"""The ATen operation of all convolutions."""


@dataclass(frozen=True)
class F32Precision:
    """
    Precisions of f32 matrix products and convolutions. `None` follows PyTorch: its
    switches on a CUDA device, and `ieee` elsewhere.
    """

    matmul: str | None = None
    conv: str | None = None
    conv3d: str | None = None
    """
    Precision of convolutions along three axes, except transposed ones without groups:
    that of other convolutions if it is requested; those of cuDNN are in f32 whatever
    the switches.
    """
    attention: str | None = None
    """
    Precision of the products of an attention: that of other products if it is
    requested; PyTorch's kernels do not follow the switches.
    """

    @staticmethod
    def from_option(option: F32PrecisionOption) -> F32Precision:
        """
        Return the precisions that an option requests. Raises `ValueError` for an
        unknown kind of product or precision.
        """
        by_kind = _precisions_by_kind(option)
        for kind, precision in by_kind.items():
            if kind not in KINDS:
                listed = " and ".join(f"`{each}`" for each in KINDS)
                raise ValueError(f"expected f32_precision of {listed}, got of `{kind}`")
            if precision not in PRECISIONS:
                listed = ", ".join(f"`{each}`" for each in PRECISIONS)
                raise ValueError(f"expected f32_precision {listed}, got {precision}")
        return F32Precision(
            **by_kind,
            conv3d=by_kind.get("conv"),
            attention=by_kind.get("matmul"),
        )

    def of_product(self, kind: ProductKind) -> str | None:
        """Return the precision of a kind of products."""
        by_kind = {
            "matmul": self.matmul,
            "conv": self.conv,
            "conv3d": self.conv3d,
            "attention": self.attention,
        }
        return by_kind[kind]

    def resolve_for_device(self, device: torch.device) -> F32Precision:
        """Return the precisions of products on a device, none of them `None`."""
        full = FULL if device.type == "cuda" else IEEE
        return F32Precision(
            self.matmul or _read_torch_switch("matmul", device),
            self.conv or _read_torch_switch("conv", device),
            self.conv3d or full,
            self.attention or full,
        )


def _precisions_by_kind(option: F32PrecisionOption) -> Mapping[str, str]:
    if option is None:
        return {}
    return dict.fromkeys(KINDS, option) if isinstance(option, str) else option


def follows_convolution_switch(graph: fx.Graph, requested: F32Precision) -> bool:
    """
    Return `True` if PyTorch's switch selects the precision of a convolution of a graph.
    PyTorch's compiler does not guard this switch, unlike that of matrix products.
    """
    if requested.conv is not None:
        return False
    nodes = graph.find_nodes(op="call_function", target=CONVOLUTION)
    results = (node.meta.get("val") for node in nodes)
    return any(
        isinstance(each, torch.Tensor)
        and each.dtype == torch.float32
        and each.device.type == "cuda"
        for each in results
    )


def read_convolution_switch() -> str:
    """Return the precision that PyTorch's switch selects for convolutions on a GPU."""
    return _read_torch_switch("conv", torch.device("cuda"))


def _read_torch_switch(kind: ProductKind, device: torch.device) -> str:
    """
    Return the precision that PyTorch's switches select for a product on a device. All
    of its functions set `fp32_precision`, by device and kind of product.
    """
    if device.type != "cuda":
        return IEEE
    backends: Any = torch.backends
    switch = backends.cuda.matmul if kind == "matmul" else backends.cudnn.conv
    return "tf32" if switch.fp32_precision == "tf32" else FULL
