"""Faults in programs on whole tensors."""

from __future__ import annotations

from mutated_programs import (
    CONVOLUTIONS,
    GELU,
    HEADS,
    LAYER_NORM,
    LINEAR,
    MAXIMUM,
    SQUARE,
    STRIDED,
    WEIGHTED,
)
from mutations import Faults, Kind, Stage, replaced

FAULTS = Faults(Stage.GRAPH)


@FAULTS.in_text(LINEAR, Kind.WRONG)
def bias_left_out(text: str) -> str:
    return replaced(text, r"graph.relu %sum", "graph.relu %product")


@FAULTS.in_text(LINEAR, Kind.WRONG)
def activation_left_out(text: str) -> str:
    return replaced(text, r"func.return %y", "func.return %sum")


@FAULTS.in_text(LINEAR, Kind.REFUSED, "%bias is used but not defined")
def operand_that_is_not_there(text: str) -> str:
    return replaced(text, r"%product, %b", "%product, %bias")


@FAULTS.in_text(LINEAR, Kind.REFUSED, "19")
def operands_of_a_product_swapped(text: str) -> str:
    return replaced(text, r"matmul %x, %w", "matmul %w, %x")


@FAULTS.in_text(WEIGHTED, Kind.WRONG)
def sum_over_the_wrong_axis(text: str) -> str:
    return replaced(text, r"axes \[1\]", "axes [0]")


@FAULTS.in_text(MAXIMUM, Kind.WRONG)
def sum_taken_for_maximum(text: str) -> str:
    return replaced(text, r"<max>", "<sum>")


@FAULTS.in_text(LAYER_NORM, Kind.WRONG)
def epsilon_ten_times_too_large(text: str) -> str:
    return replaced(text, r"epsilon 1.0e-05", "epsilon 1.0e-04")


@FAULTS.in_text(LAYER_NORM, Kind.WRONG)
def weight_and_bias_swapped(text: str) -> str:
    return replaced(text, r"weight %weight bias %bias", "weight %bias bias %weight")


@FAULTS.in_text(SQUARE, Kind.WRONG)
def square_operand_transposed(text: str) -> str:
    transposed = (
        r"%turned = graph.transpose %w permutation [1, 0]"
        "\n      : (tensor<13x13xf32>) -> tensor<13x13xf32>"
        "\n  %product = graph.matmul %x, %turned"
    )
    return replaced(text, r"%product = graph.matmul %x, %w", transposed)


@FAULTS.in_text(SQUARE, Kind.WRONG)
def factors_of_a_product_swapped(text: str) -> str:
    return replaced(text, r"matmul %x, %w", "matmul %w, %x")


@FAULTS.in_text(SQUARE, Kind.WRONG)
def constant_slightly_off(text: str) -> str:
    return replaced(text, r"6.92820323", "6.92")


@FAULTS.in_text(GELU, Kind.WRONG)
def other_approximation_of_gelu(text: str) -> str:
    return replaced(text, r"<tanh>", "<erf>")


@FAULTS.in_text(SQUARE, Kind.WRONG)
def bias_added_instead_of_subtracted(text: str) -> str:
    return replaced(text, r"graph.sub", "graph.add")


@FAULTS.in_text(SQUARE, Kind.WRONG)
def softmax_along_columns(text: str) -> str:
    return replaced(text, r"axis 1", "axis 0")


@FAULTS.in_text(CONVOLUTIONS, Kind.WRONG)
def padding_moved_to_the_other_side(text: str) -> str:
    return replaced(text, r"padding \[1, 1, 1, 1\]", "padding [0, 1, 2, 1]")


@FAULTS.in_text(STRIDED, Kind.WRONG)
def stride_too_large_for_the_same_shape(text: str) -> str:
    return replaced(text, r"strides \[3, 1\]", "strides [4, 1]")


@FAULTS.in_text(STRIDED, Kind.WRONG)
def dilation_left_out_with_its_padding(text: str) -> str:
    return replaced(
        text,
        r"padding \[0, 2, 0, 2\] dilation \[1, 2\]",
        "padding [0, 1, 0, 1] dilation [1, 1]",
    )


@FAULTS.in_text(HEADS, Kind.WRONG)
def axes_of_equal_extent_left_in_place(text: str) -> str:
    return replaced(text, r"permutation \[1, 0, 2\]", "permutation [0, 1, 2]")
