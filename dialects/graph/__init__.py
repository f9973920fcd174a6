"""
The `graph` dialect: whole tensors, by value.

A program at this level is what a frontend produces: named operations on tensors of
static shape. A `graph.group` holds operations that are to run together, with the plan
for them; `convert-graph-to-tile` turns groups into loops over tiles.
"""

from xdsl.ir import Dialect

from tlf.dialects.graph.activation import (
    DropoutOp,
    GeluKind,
    GeluKindAttr,
    GeluOp,
    ReluOp,
)
from tlf.dialects.graph.cast import CastOp, convert_scalar
from tlf.dialects.graph.constant import ConstantOp, FileAttr, dense_attribute
from tlf.dialects.graph.contraction import ContractOp, MatmulOp
from tlf.dialects.graph.convolution import Conv2dOp
from tlf.dialects.graph.elementwise import (
    AddOp,
    DivOp,
    ErfOp,
    ExpOp,
    MaximumOp,
    MulOp,
    RsqrtOp,
    SqrtOp,
    SubOp,
    TanhOp,
)
from tlf.dialects.graph.group import GroupOp, YieldOp
from tlf.dialects.graph.mean import MeanOp
from tlf.dialects.graph.movement import BroadcastOp, ReshapeOp, TransposeOp
from tlf.dialects.graph.normalization import BatchNormOp, LayerNormOp
from tlf.dialects.graph.plan import PlanAttr
from tlf.dialects.graph.reduction import ReduceKind, ReduceKindAttr, ReduceOp
from tlf.dialects.graph.softmax import SoftmaxOp

Graph = Dialect(
    "graph",
    [
        AddOp,
        BatchNormOp,
        BroadcastOp,
        CastOp,
        ConstantOp,
        ContractOp,
        Conv2dOp,
        DivOp,
        DropoutOp,
        ErfOp,
        ExpOp,
        GeluOp,
        GroupOp,
        LayerNormOp,
        MatmulOp,
        MaximumOp,
        MeanOp,
        MulOp,
        ReduceOp,
        ReluOp,
        ReshapeOp,
        RsqrtOp,
        SoftmaxOp,
        SqrtOp,
        SubOp,
        TanhOp,
        TransposeOp,
        YieldOp,
    ],
    [
        FileAttr,
        GeluKindAttr,
        PlanAttr,
        ReduceKindAttr,
    ],
)

__all__ = [
    "AddOp",
    "BatchNormOp",
    "BroadcastOp",
    "CastOp",
    "ConstantOp",
    "ContractOp",
    "Conv2dOp",
    "DivOp",
    "DropoutOp",
    "ErfOp",
    "ExpOp",
    "FileAttr",
    "GeluKind",
    "GeluKindAttr",
    "GeluOp",
    "Graph",
    "GroupOp",
    "LayerNormOp",
    "MatmulOp",
    "MaximumOp",
    "MeanOp",
    "MulOp",
    "PlanAttr",
    "ReduceKind",
    "ReduceKindAttr",
    "ReduceOp",
    "ReluOp",
    "ReshapeOp",
    "RsqrtOp",
    "SoftmaxOp",
    "SqrtOp",
    "SubOp",
    "TanhOp",
    "TransposeOp",
    "YieldOp",
    "convert_scalar",
    "dense_attribute",
]
