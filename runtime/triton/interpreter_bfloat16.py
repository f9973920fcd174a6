"""
Launch of Triton kernels in the interpreter: conversion of bfloat16 bit patterns
(uint16) to and from values.
"""

from typing import cast

import ml_dtypes
import numpy as np


def decode_bfloat16(bits: np.ndarray) -> np.ndarray:
    """Return the values of `bits` (uint16) in float32, exactly."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def encode_bfloat16(values: np.ndarray) -> np.ndarray:
    """
    Return the bit patterns (uint16) of `values`, rounded to nearest, ties to even.
    """
    rounded = np.asarray(values).astype(ml_dtypes.bfloat16)
    return cast(np.ndarray, rounded.view(np.uint16))
