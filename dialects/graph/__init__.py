"""
The `graph` dialect: operations on whole tensors, in SSA value semantics.

Frontends produce programs of this dialect: named operations on tensors of static shape.
A `graph.group` contains operations that are fused and tiled together, with their tiling
plan; `convert-graph-to-tile` lowers groups to loops over tiles.
"""

from xdsl.ir import Dialect

from tlf.dialects.graph.activation import (
    DropoutOp,
    GeluKind,
    GeluKindAttr,
    GeluOp,
    ReluOp,
)
from tlf.dialects.graph.average_pooling import AvgPool2dOp, AvgPool3dOp
from tlf.dialects.graph.batch_norm import BatchNormOp
from tlf.dialects.graph.cascade_step import CascadeStepAttr
from tlf.dialects.graph.cast import CastOp, build_scalar_cast
from tlf.dialects.graph.comparison_and_logic import (
    AndOp,
    CompareOp,
    NotOp,
    OrOp,
    Relation,
    RelationAttr,
    SelectOp,
)
from tlf.dialects.graph.concat import ConcatOp
from tlf.dialects.graph.constant import ConstantOp, SideFileAttr, to_dense_attribute
from tlf.dialects.graph.contraction import ContractOp, MatmulOp
from tlf.dialects.graph.convolution import Conv2dOp
from tlf.dialects.graph.convolution3d import Conv3dOp
from tlf.dialects.graph.copy_sign import CopySignOp
from tlf.dialects.graph.division import DivOp, RemOp
from tlf.dialects.graph.elementwise import (
    AddOp,
    MaximumOp,
    MinimumOp,
    MulOp,
    PowOp,
    SubOp,
)
from tlf.dialects.graph.exponentials import Exp2Op, Expm1Op, Log1pOp, Log2Op, Log10Op
from tlf.dialects.graph.group import GroupOp, YieldOp
from tlf.dialects.graph.im2col import Im2colOp
from tlf.dialects.graph.in_place_attribute import InPlaceAttr
from tlf.dialects.graph.interpolation import InterpolateOp
from tlf.dialects.graph.iota import IotaOp
from tlf.dialects.graph.layer_norm import LayerNormOp, RmsNormOp
from tlf.dialects.graph.linear_contraction import LinearContractOp
from tlf.dialects.graph.mean import MeanOp
from tlf.dialects.graph.movement import BroadcastOp, ReshapeOp, TransposeOp
from tlf.dialects.graph.padding import PadOp
from tlf.dialects.graph.pooling import MaxPool2dOp, SumPool2dOp
from tlf.dialects.graph.pooling3d import MaxPool3dOp
from tlf.dialects.graph.prefix_scan import CumulateOp
from tlf.dialects.graph.range_assertion import WithinOp
from tlf.dialects.graph.reduction import ReduceKind, ReduceKindAttr, ReduceOp
from tlf.dialects.graph.remark_attribute import (
    RemarkAttr,
    add_remark,
    add_shared_remark,
    format_remark,
    remarks_of,
)
from tlf.dialects.graph.rewrites import register_rewrites
from tlf.dialects.graph.rounding import CeilOp, FloorOp, RoundOp, TruncOp
from tlf.dialects.graph.scatter import ScatterKind, ScatterKindAttr, ScatterOp
from tlf.dialects.graph.sigmoid import SigmoidOp, SiluOp
from tlf.dialects.graph.slicing import SliceOp
from tlf.dialects.graph.softmax import SoftmaxOp
from tlf.dialects.graph.sorting import ArgReduceOp, SortOp
from tlf.dialects.graph.take_and_gather import GatherOp, TakeOp
from tlf.dialects.graph.tf32_rounding import RoundTf32Op
from tlf.dialects.graph.tiling_plan import PlanAttr
from tlf.dialects.graph.trigonometry import (
    AcoshOp,
    AcosOp,
    AsinhOp,
    AsinOp,
    Atan2Op,
    AtanhOp,
    AtanOp,
    CoshOp,
    SinhOp,
    TanOp,
)
from tlf.dialects.graph.unary_functions import (
    AbsOp,
    CosOp,
    ErfOp,
    ExpOp,
    LogOp,
    NegOp,
    RsqrtOp,
    SinOp,
    SqrtOp,
    TanhOp,
)
from tlf.dialects.graph.unfold import UnfoldOp

register_rewrites()

Graph = Dialect(
    "graph",
    [
        AbsOp,
        AcosOp,
        AcoshOp,
        AddOp,
        AndOp,
        ArgReduceOp,
        AsinOp,
        AsinhOp,
        Atan2Op,
        AtanOp,
        AtanhOp,
        AvgPool2dOp,
        AvgPool3dOp,
        BatchNormOp,
        BroadcastOp,
        CastOp,
        CeilOp,
        CompareOp,
        ConcatOp,
        ConstantOp,
        ContractOp,
        Conv2dOp,
        Conv3dOp,
        CopySignOp,
        CosOp,
        CoshOp,
        CumulateOp,
        DivOp,
        DropoutOp,
        ErfOp,
        Exp2Op,
        ExpOp,
        Expm1Op,
        FloorOp,
        GatherOp,
        Im2colOp,
        GeluOp,
        GroupOp,
        InterpolateOp,
        IotaOp,
        LayerNormOp,
        LinearContractOp,
        Log10Op,
        Log1pOp,
        Log2Op,
        LogOp,
        MatmulOp,
        MaxPool2dOp,
        MaxPool3dOp,
        MaximumOp,
        MeanOp,
        MinimumOp,
        MulOp,
        NegOp,
        NotOp,
        OrOp,
        PadOp,
        PowOp,
        ReduceOp,
        ReluOp,
        RemOp,
        ReshapeOp,
        RmsNormOp,
        RoundOp,
        RoundTf32Op,
        RsqrtOp,
        ScatterOp,
        SelectOp,
        SigmoidOp,
        SiluOp,
        SinOp,
        SinhOp,
        SliceOp,
        SoftmaxOp,
        SortOp,
        SqrtOp,
        SubOp,
        SumPool2dOp,
        TakeOp,
        TanOp,
        TanhOp,
        TransposeOp,
        TruncOp,
        UnfoldOp,
        WithinOp,
        YieldOp,
    ],
    [
        SideFileAttr,
        GeluKindAttr,
        InPlaceAttr,
        PlanAttr,
        ReduceKindAttr,
        RelationAttr,
        RemarkAttr,
        ScatterKindAttr,
        CascadeStepAttr,
    ],
)

__all__ = [
    "AbsOp",
    "AcosOp",
    "AcoshOp",
    "AddOp",
    "AndOp",
    "ArgReduceOp",
    "AsinOp",
    "AsinhOp",
    "Atan2Op",
    "AtanOp",
    "AtanhOp",
    "AvgPool2dOp",
    "AvgPool3dOp",
    "BatchNormOp",
    "BroadcastOp",
    "CascadeStepAttr",
    "CastOp",
    "CeilOp",
    "CompareOp",
    "ConcatOp",
    "ConstantOp",
    "ContractOp",
    "Conv2dOp",
    "Conv3dOp",
    "CopySignOp",
    "CosOp",
    "CoshOp",
    "CumulateOp",
    "DivOp",
    "DropoutOp",
    "ErfOp",
    "Exp2Op",
    "ExpOp",
    "Expm1Op",
    "FloorOp",
    "GatherOp",
    "GeluKind",
    "GeluKindAttr",
    "GeluOp",
    "Graph",
    "GroupOp",
    "Im2colOp",
    "InPlaceAttr",
    "InterpolateOp",
    "IotaOp",
    "LayerNormOp",
    "LinearContractOp",
    "Log1pOp",
    "Log2Op",
    "Log10Op",
    "LogOp",
    "MatmulOp",
    "MaxPool2dOp",
    "MaxPool3dOp",
    "MaximumOp",
    "MeanOp",
    "MinimumOp",
    "MulOp",
    "NegOp",
    "NotOp",
    "OrOp",
    "PadOp",
    "PlanAttr",
    "PowOp",
    "ReduceKind",
    "ReduceKindAttr",
    "ReduceOp",
    "Relation",
    "RelationAttr",
    "ReluOp",
    "RemOp",
    "RemarkAttr",
    "ReshapeOp",
    "RmsNormOp",
    "RoundOp",
    "RoundTf32Op",
    "RsqrtOp",
    "ScatterKind",
    "ScatterKindAttr",
    "ScatterOp",
    "SelectOp",
    "SideFileAttr",
    "SigmoidOp",
    "SiluOp",
    "SinOp",
    "SinhOp",
    "SliceOp",
    "SoftmaxOp",
    "SortOp",
    "SqrtOp",
    "SubOp",
    "SumPool2dOp",
    "TakeOp",
    "TanOp",
    "TanhOp",
    "TransposeOp",
    "TruncOp",
    "UnfoldOp",
    "WithinOp",
    "YieldOp",
    "add_remark",
    "add_shared_remark",
    "build_scalar_cast",
    "format_remark",
    "remarks_of",
    "to_dense_attribute",
]
