"""The references of poolings, against torch in f64."""

from typing import Any

import numpy as np
import pytest
import torch
from graph_numerics import FLOATS, check, double, floats, numbers, run, some, values
from numpy.random import Generator
from xdsl.ir import Attribute

from tlf.dialects import graph

WINDOWS: list[dict[str, Any]] = [
    {"kernel": (3, 3), "strides": (2, 2), "padding": (1, 1, 1, 1)},
    {"kernel": (2, 3), "strides": (3, 1), "padding": (1, 0, 1, 0)},
    {"kernel": (1, 2), "dilation": (1, 4)},
]

windows = pytest.mark.parametrize("window", WINDOWS)


@windows
@numbers
def test_max_pool2d(element: Attribute, window: dict[str, Any], rng: Generator):
    images = some(rng, (2, 3, 9, 8), element)
    if element in FLOATS:
        images[0, 0, 4, 4] = np.nan
    found = run(graph.MaxPool2dOp, images, of=element, **window)
    expected = torch.nn.functional.max_pool2d(
        double(images),
        window["kernel"],
        window.get("strides", 1),
        window.get("padding", (0, 0))[:2],
        window.get("dilation", 1),
    )
    check(found, expected, element)


@windows
@numbers
def test_sum_pool2d(element: Attribute, window: dict[str, Any], rng: Generator):
    images = some(rng, (2, 3, 9, 8), element)
    found = run(graph.SumPool2dOp, images, of=element, **window)
    ones = torch.ones(3, 1, *window["kernel"], dtype=torch.float64)
    expected = torch.nn.functional.conv2d(
        double(images),
        ones,
        None,
        window.get("strides", 1),
        window.get("padding", (0, 0))[:2],
        window.get("dilation", 1),
        groups=3,
    )
    check(found, expected, element, error=1e-6)


@pytest.mark.parametrize("window", WINDOWS[:2])
@pytest.mark.parametrize("exclude", [False, True])
@floats
def test_avg_pool2d(
    element: Attribute, window: dict[str, Any], exclude: bool, rng: Generator
):
    images = some(rng, (2, 3, 9, 8), element)
    found = run(
        graph.AvgPool2dOp, images, of=element, **window, exclude_padding=exclude
    )
    expected = torch.nn.functional.avg_pool2d(
        double(images),
        window["kernel"],
        window["strides"],
        window["padding"][:2],
        count_include_pad=not exclude,
    )
    check(found, expected, element, error=1e-6)


@floats
def test_pools_from_init(element: Attribute, rng: Generator):
    images, init = some(rng, (1, 2, 5, 5), element), some(rng, (1, 2, 3, 3), element)
    for kind, merge in ((graph.MaxPool2dOp, np.maximum), (graph.SumPool2dOp, np.add)):
        x, start = values(images, init, elements=[element] * 2)
        op = kind(x, (3, 3), init=start)
        op.verify()
        plain = kind(x, (3, 3)).compute_reference(images.astype(np.float64))[0]
        wide = np.asarray(merge(plain.astype(np.float64), init.astype(np.float64)))
        check(
            op.compute_reference(images, init)[0],
            torch.tensor(wide),
            element,
            error=1e-2,
        )


VOLUMES: list[dict[str, Any]] = [
    {"kernel": (2, 3, 3), "strides": (1, 2, 2), "padding": (1, 1, 1) * 2},
    {"kernel": (1, 2, 3), "strides": (3, 1, 2), "padding": (0, 1, 0) * 2},
    {"kernel": (3, 2, 1), "strides": (1, 1, 1)},
]

volumes = pytest.mark.parametrize("window", VOLUMES)


@volumes
@pytest.mark.parametrize("dilation", [(1, 1, 1), (2, 3, 1)])
@numbers
def test_max_pool3d(
    element: Attribute,
    dilation: tuple[int, int, int],
    window: dict[str, Any],
    rng: Generator,
):
    images = some(rng, (2, 3, 5, 9, 8), element)
    if element in FLOATS:
        images[0, 0, 2, 4, 4] = np.nan
    options = {**window, "dilation": dilation}
    found = run(graph.MaxPool3dOp, images, of=element, **options)
    expected = torch.nn.functional.max_pool3d(
        double(images),
        window["kernel"],
        window["strides"],
        window.get("padding", (0, 0, 0))[:3],
        dilation,
    )
    check(found, expected, element)


@volumes
@pytest.mark.parametrize("exclude", [False, True])
@floats
def test_avg_pool3d(
    element: Attribute, window: dict[str, Any], exclude: bool, rng: Generator
):
    images = some(rng, (2, 3, 5, 9, 8), element)
    found = run(
        graph.AvgPool3dOp, images, of=element, **window, exclude_padding=exclude
    )
    expected = torch.nn.functional.avg_pool3d(
        double(images),
        window["kernel"],
        window["strides"],
        window.get("padding", (0, 0, 0))[:3],
        count_include_pad=not exclude,
    )
    check(found, expected, element, error=1e-6)
