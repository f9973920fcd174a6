"""Cases of functions of single elements."""

from torch_cases import Case, cases_of, normal, positive, truth, unit, whole

FUNCTIONS = [
    *cases_of("abs neg exp exp2 expm1 sin cos tan sinh cosh tanh atan asinh erf"),
    *cases_of("sigmoid sign relu ceil floor round trunc square isnan isinf isfinite"),
    *cases_of("sqrt rsqrt log log2 log10 log1p reciprocal", draw=positive),
    *cases_of("asin acos atanh", draw=unit),
    Case("acosh", "lambda x: T.acosh(x + 1)", [(5, 7)], positive),
    *cases_of("add sub mul div atan2 maximum minimum", [(5, 1, 7), (3, 7)]),
    *cases_of("fmod remainder", [(5, 1, 7), (3, 7)]),
    *cases_of("eq ne lt le gt ge", [(5, 1, 7), (3, 7)]),
    *cases_of("add sub mul div maximum minimum lt eq", [(5, 1, 7), (3, 7)], whole),
    *cases_of("fmod remainder floor_divide", [(5, 1, 7), (3, 7)], whole),
    *cases_of("abs neg sign square exp ceil relu", draw=whole),
    *cases_of("logical_and logical_or logical_xor", [(5, 1, 7), (3, 7)], truth),
    *cases_of("bitwise_and bitwise_or bitwise_xor", [(5, 1, 7), (3, 7)], truth),
    *cases_of("logical_not bitwise_not", draw=truth),
    *cases_of("logical_not logical_and", [(5, 7)], whole)[:1],
    *cases_of("pow", [(5, 1, 7), (3, 7)], positive),
    Case("pow 2", "lambda x: x ** 2", [(5, 7)], normal),
    Case("pow 3", "lambda x: x ** 3", [(5, 7)], normal),
    Case("pow 4", "lambda x: x ** 4", [(5, 7)], normal),
    Case("pow -1", "lambda x: x ** (-1)", [(5, 7)], positive),
    Case("pow 1.7", "lambda x: x ** 1.7", [(5, 7)], positive),
    Case("2 pow", "lambda x: 2 ** x", [(5, 7)], normal),
    Case("add alpha", "lambda x, y: T.add(x, y, alpha=3)", [(5, 7), (5, 7)], normal),
    Case("rsub", "lambda x: 3 - x", [(5, 7)], normal),
    Case("mixed", "lambda x: x + T.arange(7) * 2 + x.shape[0]", [(5, 7)], normal),
    Case("int mean", "lambda x: x.float().mean(1) + x.sum(1)", [(5, 7)], whole),
    Case("int / int", "lambda x, y: x / y", [(5, 7), (5, 7)], whole),
    Case(
        "floor div",
        "lambda x, y: T.div(x, y, rounding_mode='floor')",
        [(5, 7)] * 2,
        normal,
    ),
    Case(
        "trunc div",
        "lambda x, y: T.div(x, y, rounding_mode='trunc')",
        [(5, 7)] * 2,
        normal,
    ),
    Case("clamp", "lambda x: T.clamp(x, -0.5, 0.7)", [(5, 7)], normal),
    Case("clamp min", "lambda x: T.clamp(x, min=0.1)", [(5, 7)], normal),
    Case("clamp tensors", "T.clamp", [(5, 7), (7,), (5, 1)], normal),
    Case("where", "lambda x, y: T.where(x > y, x, 2.0)", [(5, 7), (7,)], normal),
    Case(
        "masked_fill", "lambda x: x.masked_fill(x > 0, -1000000000.0)", [(5, 7)], normal
    ),
    Case("to int", "lambda x: (x * 9).to(T.int32)", [(5, 7)], normal),
    Case("to bool", "lambda x: x.round().bool()", [(5, 7)], normal),
    Case("scalar", "lambda x: x * x + 1", [()], normal),
    Case("one element", "lambda x: T.softmax(x, -1).sum()", [(1, 1)], normal),
    Case("lerp", "T.lerp", [(5, 7), (5, 7), (5, 7)], normal),
    Case("addcmul", "T.addcmul", [(5, 7), (5, 7), (5, 7)], normal),
]


ACTIVATIONS = [
    *cases_of("relu relu6 gelu silu leaky_relu elu selu celu", library="F"),
    *cases_of("softplus mish hardswish hardsigmoid", library="F"),
    Case("hardtanh", "lambda x: F.hardtanh(x * 3)", [(5, 7)], normal),
    *cases_of("softsign tanhshrink softshrink logsigmoid", library="F"),
    Case("gelu tanh", "lambda x: F.gelu(x, approximate='tanh')", [(5, 7)], normal),
    Case("elu 0.5", "lambda x: F.elu(x, 0.5)", [(5, 7)], normal),
    Case("softplus 2", "lambda x: F.softplus(x, 2, 1)", [(5, 7)], normal),
    Case("prelu", "F.prelu", [(2, 3, 4), (3,)], normal),
    Case("glu", "F.glu", [(5, 8)], normal),
    Case("dropout", "lambda x: F.dropout(x, 0.5, False)", [(5, 7)], normal),
]
