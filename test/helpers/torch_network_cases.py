"""Cases of products, windows, normalisation and losses."""

from torch_cases import Case, cases_of, normal, positive, whole

CONTRACTIONS = [
    Case("matmul", "T.matmul", [(5, 7), (7, 3)], normal),
    Case("batched", "T.matmul", [(2, 1, 5, 7), (3, 7, 4)], normal),
    Case("vectors", "T.matmul", [(7,), (7,)], normal),
    Case("matrix vector", "T.matmul", [(5, 7), (7,)], normal),
    Case("bmm", "T.bmm", [(2, 5, 7), (2, 7, 3)], normal),
    Case(
        "addmm",
        "lambda a, b, c: T.addmm(a, b, c, beta=2, alpha=3)",
        [(3,), (5, 7), (7, 3)],
        normal,
    ),
    Case("baddbmm", "T.baddbmm", [(2, 5, 3), (2, 5, 7), (2, 7, 3)], normal),
    Case("linear", "F.linear", [(2, 5, 7), (3, 7), (3,)], normal),
    Case("outer", "T.outer", [(5,), (7,)], normal),
    Case(
        "einsum",
        "lambda x, y: T.einsum('bik,bjk->bij', x, y)",
        [(2, 5, 7), (2, 3, 7)],
        normal,
    ),
    Case(
        "einsum 4",
        "lambda x, y: T.einsum('bhid,bhjd->hijb', x, y)",
        [(2, 3, 5, 4), (2, 3, 6, 4)],
        normal,
    ),
    Case("kron", "T.kron", [(2, 3), (3, 2)], normal),
    Case("bilinear", "F.bilinear", [(5, 3), (5, 4), (2, 3, 4)], normal),
    Case("attention", "F.scaled_dot_product_attention", [(2, 3, 6, 4)] * 3, normal),
    Case(
        "causal attention",
        ("lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)"),
        [(2, 3, 6, 4)] * 3,
        normal,
    ),
    Case(
        "masked attention",
        (
            "lambda q, k, v: "
            "F.scaled_dot_product_attention(q, k, v, T.arange(6)[None] < 4)"
        ),
        [(2, 3, 6, 4)] * 3,
        normal,
    ),
    Case(
        "attention with hidden rows",
        (
            "lambda q, k, v: F.scaled_dot_product_attention("
            "q, k, v, T.arange(6)[:, None] < T.arange(6)[None], scale=0.3)"
        ),
        [(2, 3, 6, 4)] * 3,
        normal,
    ),
    Case(
        "biased attention",
        "lambda q, k, v, b: F.scaled_dot_product_attention(q, k, v, b)",
        [(2, 3, 6, 4), (2, 3, 5, 4), (2, 3, 5, 4), (3, 6, 5)],
        normal,
    ),
    Case(
        "grouped attention",
        ("lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True)"),
        [(2, 4, 6, 4), (2, 2, 6, 4), (2, 2, 6, 4)],
        normal,
    ),
]


CONVOLUTIONS = [
    Case(
        "conv1d",
        "lambda x, w: F.conv1d(x, w, stride=2, padding=1)",
        [(2, 3, 9), (4, 3, 3)],
        normal,
    ),
    Case(
        "conv1d dilated",
        "lambda x, w: F.conv1d(x, w, dilation=2)",
        [(2, 3, 9), (4, 3, 3)],
        normal,
    ),
    Case(
        "conv2d",
        "lambda x, w, b: F.conv2d(x, w, b, padding=1)",
        [(2, 3, 6, 5), (4, 3, 3, 3), (4,)],
        normal,
    ),
    Case(
        "conv2d same",
        "lambda x, w: F.conv2d(x, w, padding='same')",
        [(2, 3, 6, 5), (4, 3, 4, 3)],
        normal,
    ),
    Case("conv2d unbatched", "F.conv2d", [(3, 6, 5), (4, 3, 3, 3)], normal),
    Case(
        "conv2d groups",
        "lambda x, w: F.conv2d(x, w, groups=2)",
        [(2, 4, 6, 5), (6, 2, 3, 2)],
        normal,
    ),
    Case(
        "depthwise",
        "lambda x, w: F.conv2d(x, w, groups=4, stride=2)",
        [(2, 4, 6, 5), (4, 1, 3, 3)],
        normal,
    ),
    Case(
        "conv3d",
        "lambda x, w, b: F.conv3d(x, w, b, padding=1, stride=2)",
        [(1, 2, 5, 4, 3), (3, 2, 3, 3, 3), (3,)],
        normal,
    ),
    Case(
        "conv3d groups",
        "lambda x, w: F.conv3d(x, w, groups=2)",
        [(1, 4, 3, 4, 3), (2, 2, 2, 2, 2)],
        normal,
    ),
    Case(
        "transposed 1d",
        "lambda x, w: F.conv_transpose1d(x, w, stride=2)",
        [(2, 3, 5), (3, 4, 3)],
        normal,
    ),
    Case(
        "transposed 2d",
        (
            "lambda x, w, b: "
            "F.conv_transpose2d(x, w, b, stride=2, padding=1, output_padding=1)"
        ),
        [(2, 3, 4, 5), (3, 4, 3, 3), (4,)],
        normal,
    ),
    Case(
        "transposed groups",
        ("lambda x, w: F.conv_transpose2d(x, w, groups=2, dilation=2, stride=(1, 3))"),
        [(2, 4, 4, 5), (4, 3, 3, 2)],
        normal,
    ),
    Case(
        "transposed crop",
        "lambda x, w: F.conv_transpose2d(x, w, padding=2)",
        [(1, 2, 4, 5), (2, 3, 2, 2)],
        normal,
    ),
    Case(
        "transposed 3d",
        "lambda x, w: F.conv_transpose3d(x, w, stride=2)",
        [(1, 2, 3, 2, 3), (2, 3, 2, 3, 2)],
        normal,
    ),
]


POOLING = [
    Case("max_pool1d", "lambda x: F.max_pool1d(x, 3, 2)", [(2, 3, 9)], normal),
    Case("max_pool2d", "lambda x: F.max_pool2d(x, 3, 2, 1)", [(2, 3, 7, 6)], normal),
    Case(
        "max_pool2d ceil",
        "lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True)",
        [(2, 3, 7, 6)],
        normal,
    ),
    Case("max_pool3d", "lambda x: F.max_pool3d(x, 2)", [(1, 2, 4, 5, 6)], normal),
    Case(
        "max_pool3d ceil",
        "lambda x: F.max_pool3d(x, 3, 2, 1, ceil_mode=True)",
        [(2, 3, 6, 7)],
        normal,
    ),
    Case("avg_pool1d", "lambda x: F.avg_pool1d(x, 3, 2, 1)", [(2, 3, 9)], normal),
    Case("avg_pool2d", "lambda x: F.avg_pool2d(x, 3, 2, 1)", [(2, 3, 7, 6)], normal),
    Case(
        "avg_pool2d exclude",
        "lambda x: F.avg_pool2d(x, 3, 1, 1, count_include_pad=False)",
        [(2, 3, 7, 6)],
        normal,
    ),
    Case(
        "avg_pool2d ceil",
        "lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True)",
        [(2, 3, 8, 6)],
        normal,
    ),
    Case("avg_pool3d", "lambda x: F.avg_pool3d(x, 2, 2, 1)", [(1, 2, 4, 5, 6)], normal),
    Case(
        "avg_pool3d exclude",
        "lambda x: F.avg_pool3d(x, 3, 2, 1, count_include_pad=False)",
        [(2, 4, 5, 6)],
        normal,
    ),
    Case("lp_pool2d", "lambda x: F.lp_pool2d(x, 2, 2)", [(1, 2, 4, 6)], positive),
    Case("adaptive 1", "lambda x: F.adaptive_avg_pool2d(x, 1)", [(2, 3, 7, 6)], normal),
    Case(
        "adaptive 2x3",
        "lambda x: F.adaptive_avg_pool2d(x, (2, 3))",
        [(2, 3, 7, 6)],
        normal,
    ),
    Case("adaptive 1d", "lambda x: F.adaptive_avg_pool1d(x, 4)", [(2, 3, 9)], normal),
    Case(
        "adaptive 3d",
        "lambda x: F.adaptive_avg_pool3d(x, (1, 2, 3))",
        [(1, 2, 3, 4, 6)],
        normal,
    ),
    Case(
        "adaptive max",
        "lambda x: F.adaptive_max_pool2d(x, (2, 1))",
        [(2, 3, 4, 6)],
        normal,
    ),
    Case(
        "adaptive max index",
        "lambda x: F.adaptive_max_pool2d(x, (2, 1), True)",
        [(2, 3, 4, 6)],
        normal,
    ),
    Case(
        "max_pool1d index",
        "lambda x: F.max_pool1d(x, 2, return_indices=True)",
        [(2, 3, 9)],
        normal,
    ),
    Case(
        "max_pool2d index",
        "lambda x: F.max_pool2d(x, 3, 2, 1, 2, True, True)",
        [(2, 3, 8, 7)],
        normal,
    ),
    Case(
        "max_pool2d index of infinity",
        "lambda x: F.max_pool2d(x - T.inf, 3, 2, 1, return_indices=True)",
        [(3, 8, 7)],
        normal,
    ),
    Case(
        "max_pool3d index",
        "lambda x: F.max_pool3d(x, 2, 1, 1, return_indices=True)[1]",
        [(1, 2, 3, 3, 2)],
        normal,
    ),
    Case("avg_pool2d int", "lambda x: F.avg_pool2d(x, 2)", [(2, 3, 7, 6)], whole),
    Case("max_pool2d int", "lambda x: F.max_pool2d(x, 2)", [(2, 3, 7, 6)], whole),
]


NORMALIZATIONS = [
    Case(
        "layer_norm",
        "lambda x, w, b: F.layer_norm(x, (7,), w, b)",
        [(3, 5, 7), (7,), (7,)],
        normal,
    ),
    Case("layer_norm 2", "lambda x: F.layer_norm(x, (5, 7))", [(3, 5, 7)], normal),
    Case(
        "group_norm",
        "lambda x, w, b: F.group_norm(x, 2, w, b)",
        [(2, 4, 3, 5), (4,), (4,)],
        normal,
    ),
    Case("instance_norm", "lambda x: F.instance_norm(x)", [(2, 4, 3, 5)], normal),
    Case("rms_norm", "lambda x, w: F.rms_norm(x, (7,), w)", [(3, 5, 7), (7,)], normal),
    Case(
        "batch_norm",
        "lambda x, m, w: F.batch_norm(x, m, w.exp(), w, m)",
        [(2, 4, 3), (4,), (4,)],
        normal,
    ),
    Case(
        "batch_norm of batch",
        "lambda x: F.batch_norm(x, None, None, training=True)",
        [(5, 4, 3)],
        normal,
    ),
    Case(
        "local_response_norm",
        "lambda x: F.local_response_norm(x, 3)",
        [(2, 4, 3, 5)],
        normal,
    ),
    Case(
        "local_response_norm int",
        "lambda x: F.local_response_norm(x, 3)",
        [(2, 4, 3, 5)],
        whole,
    ),
    Case(
        "layer_norm statistics",
        "lambda x: T.native_layer_norm(x, (5, 7), None, None, 1e-5)",
        [(3, 5, 7)],
        normal,
    ),
    Case(
        "group_norm statistics",
        "lambda x: T.native_group_norm(x, None, None, 2, 4, 15, 2, 1e-5)",
        [(2, 4, 3, 5)],
        normal,
    ),
]


RESAMPLING = [
    Case(
        "nearest", "lambda x: F.interpolate(x, scale_factor=2)", [(2, 3, 4, 5)], normal
    ),
    Case(
        "nearest odd", "lambda x: F.interpolate(x, size=(7, 3))", [(2, 3, 4, 5)], normal
    ),
    Case(
        "nearest 1d",
        "lambda x: F.interpolate(x, scale_factor=1.5)",
        [(2, 3, 5)],
        normal,
    ),
    Case(
        "bilinear",
        "lambda x: F.interpolate(x, scale_factor=2, mode='bilinear')",
        [(2, 3, 4, 5)],
        normal,
    ),
    Case(
        "bilinear corners",
        (
            "lambda x: "
            "F.interpolate(x, size=(7, 3), mode='bilinear', align_corners=True)"
        ),
        [(2, 3, 4, 5)],
        normal,
    ),
    Case(
        "trilinear",
        "lambda x: F.interpolate(x, scale_factor=2, mode='trilinear')",
        [(1, 2, 2, 3, 2)],
        normal,
    ),
    Case(
        "linear",
        "lambda x: F.interpolate(x, size=9, mode='linear')",
        [(2, 3, 4)],
        normal,
    ),
]


LOSSES = [
    *cases_of(
        "mse_loss l1_loss smooth_l1_loss huber_loss",
        [(5, 7), (5, 7)],
        library="F",
    ),
    Case(
        "cross_entropy",
        "lambda x: F.cross_entropy(x, T.tensor([1, 0, 6, 3, 2]))",
        [(5, 7)],
        normal,
    ),
    Case(
        "nll_loss",
        "lambda x: F.nll_loss(x.log_softmax(1), T.tensor([1, 0, 6, 3, 2]))",
        [(5, 7)],
        normal,
    ),
    Case(
        "bce",
        "lambda x: F.binary_cross_entropy(x.sigmoid(), (x > 0).float())",
        [(5, 7)],
        normal,
    ),
    Case(
        "bce logits",
        "lambda x, y: F.binary_cross_entropy_with_logits(x, y.sigmoid())",
        [(5, 7)] * 2,
        normal,
    ),
    Case(
        "kl_div",
        (
            "lambda x, y: "
            "F.kl_div(x.log_softmax(1), y.softmax(1), reduction='batchmean')"
        ),
        [(5, 7)] * 2,
        normal,
    ),
    Case("cosine", "lambda x, y: F.cosine_similarity(x, y)", [(5, 7), (5, 7)], normal),
    Case("triplet", "F.triplet_margin_loss", [(5, 7), (5, 7), (5, 7)], normal),
    Case(
        "hinge",
        "lambda x, y: F.hinge_embedding_loss(x, y.sign())",
        [(5, 7), (5, 7)],
        normal,
    ),
    Case("cdist", "T.cdist", [(5, 3), (4, 3)], normal),
]
