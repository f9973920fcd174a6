"""
Workloads as programs on whole tensors: networks, layers and random graphs.

    python bench/zoo.py --list
    python bench/zoo.py bottleneck --size 224 --dtype f16 > bottleneck.mlir
    python bench/zoo.py resnet50 --size 32 --divide 8 --dtype f32 > small.mlir
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import zoo_concat
import zoo_images
import zoo_language
import zoo_random
import zoo_residual
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from zoo_builder import ELEMENTS, WorkloadSizes

FLOATS = ("f16", "bf16", "f32")
ALL = tuple(ELEMENTS)

SMALL = WorkloadSizes(8, element="f32", divisor=16)


class ZooError(Exception):
    """Error for a workload that cannot be built; the message is one line."""


@dataclass(frozen=True)
class Workload:
    """Program that can be built in several sizes."""

    build: Callable[[WorkloadSizes], ModuleOp]
    text: str
    """Description, in one line."""
    size: int
    """Default size."""
    unit: str
    """Unit of the size."""
    dtypes: tuple[str, ...] = ALL
    small: WorkloadSizes = SMALL
    """Sizes that run in a second on the simulated NPU."""

    def module(
        self,
        size: int | None = None,
        batch: int = 1,
        dtype: str = "f16",
        divisor: int = 1,
        seed: int = 0,
        layers: int = 1,
    ) -> ModuleOp:
        """Return the verified program. Raises `ZooError` if it cannot be built."""
        if dtype not in self.dtypes:
            listed = ", ".join(self.dtypes)
            raise ZooError(f"expected an element type among {listed}, got {dtype}")
        extent = self.size if size is None else size
        counts = {
            "size": extent,
            "batch": batch,
            "divisor": divisor,
            "number of layers": layers,
        }
        for name, number in counts.items():
            if number < 1:
                raise ZooError(f"expected a {name} of at least 1, got {number}")
        try:
            sizes = WorkloadSizes(
                extent, batch, dtype, divisor=divisor, seed=seed, layers=layers
            )
            module = self.build(sizes)
            module.verify()
        except VerifyException as error:
            reason = str(error).splitlines()[-1].strip()
            raise ZooError(
                f"expected sizes that fit, got {extent} and divisor {divisor}: {reason}"
            ) from error
        return module

    def small_module(self, dtype: str | None = None) -> ModuleOp:
        """Return the program at its small sizes."""
        sizes = self.small if dtype is None else replace(self.small, element=dtype)
        return self.build(sizes)


IMAGE = "rows and columns of the image"


def small_sizes(
    size: int, divisor: int, batch: int = 1, stages: int = 2
) -> WorkloadSizes:
    """Return sizes for tests."""
    return WorkloadSizes(size, batch, "f32", divisor, stages, repeats=1)


WORKLOADS: Mapping[str, Workload] = {
    "bottleneck": Workload(
        zoo_residual.bottleneck,
        "a bottleneck block of 256 channels with its skip",
        56,
        IMAGE,
    ),
    "resnet18": Workload(
        zoo_residual.resnet18, "ResNet-18", 224, IMAGE, small=small_sizes(9, 16)
    ),
    "resnet50": Workload(
        zoo_residual.resnet50, "ResNet-50", 224, IMAGE, small=small_sizes(9, 32)
    ),
    "mobilenet-v2": Workload(
        zoo_images.mobilenet_v2, "MobileNet-v2", 224, IMAGE, small=small_sizes(9, 16)
    ),
    "mbconv": Workload(
        zoo_images.mbconv,
        "a block of EfficientNet with squeeze and excitation",
        28,
        IMAGE,
        FLOATS,
        small_sizes(6, 10, batch=2),
    ),
    "vgg16-head": Workload(
        zoo_images.vgg16_head,
        "the first four layers of VGG-16",
        224,
        IMAGE,
        small=small_sizes(12, 16),
    ),
    "unet": Workload(
        zoo_images.unet,
        "U-Net of four levels",
        512,
        IMAGE,
        FLOATS,
        small_sizes(6, 16, stages=1),
    ),
    "squeezenet": Workload(
        zoo_concat.squeezenet,
        "SqueezeNet 1.1",
        224,
        IMAGE,
        FLOATS,
        small_sizes(17, 16, stages=2),
    ),
    "inception": Workload(
        zoo_concat.inception,
        "the first Inception module of GoogLeNet",
        28,
        IMAGE,
        FLOATS,
        small_sizes(7, 16, batch=2),
    ),
    "dense": Workload(
        zoo_concat.dense,
        "the first dense block of DenseNet-121",
        56,
        IMAGE,
        FLOATS,
        WorkloadSizes(6, 1, "f32", 16, repeats=3),
    ),
    "fsrcnn": Workload(
        zoo_images.fsrcnn,
        "FSRCNN(56, 12, 4), four times as large",
        560,
        "rows of the image, 12 columns for 7",
        FLOATS,
        small_sizes(7, 4),
    ),
    "transformer": Workload(
        zoo_language.transformer,
        "a layer of an encoder, 768 wide",
        512,
        "words",
        FLOATS,
        small_sizes(9, 48, batch=2),
    ),
    "swiglu": Workload(
        zoo_language.swiglu,
        "the feed-forward part of a LLaMA-7B layer",
        512,
        "words",
        FLOATS,
        small_sizes(9, 256),
    ),
    "gemv": Workload(
        zoo_language.gemv,
        "a vector times a square matrix",
        4096,
        "rows and columns of the matrix",
        small=small_sizes(70, 1),
    ),
    "random-tree": Workload(
        zoo_random.series_parallel,
        "a random graph of chains and branches",
        24,
        "operations",
        FLOATS,
        small_sizes(8, 16),
    ),
    "random-dag": Workload(
        zoo_random.irregular,
        "a random graph of any form",
        24,
        "operations",
        FLOATS,
        small_sizes(8, 16),
    ),
}
"""Workloads by name."""


class ZooOptions(argparse.Namespace):
    """Command-line options."""

    name: str | None
    list: bool
    size: int | None
    batch: int
    dtype: str
    divide: int
    seed: int
    layers: int


def parse_arguments(arguments: Sequence[str] | None) -> ZooOptions:
    """Parse the command line."""
    text = (__doc__ or "").strip().split("\n")[0]
    parser = argparse.ArgumentParser(prog="zoo", description=text)
    parser.add_argument("name", nargs="?", help="a workload of the list")
    parser.add_argument("--list", action="store_true", help="list the workloads")
    parser.add_argument("--size", type=int, help="size in the unit listed")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--dtype", default="f16", help=", ".join(ALL))
    parser.add_argument("--divide", type=int, default=1, help="divisor of channels")
    parser.add_argument("--seed", type=int, default=0, help="of random graphs")
    parser.add_argument("--layers", type=int, default=1, help="of a transformer")
    return parser.parse_args(arguments, namespace=ZooOptions())


def list_workloads() -> str:
    """Return the names and descriptions of all workloads, a line each."""
    lines = [
        f"{name:<14}{each.text}; size {each.size}: {each.unit}; {' '.join(each.dtypes)}"
        for name, each in WORKLOADS.items()
    ]
    return "\n".join(lines)


def workload(name: str) -> Workload:
    """Return a workload by its name. Raises `ZooError` if the name is unknown."""
    if name not in WORKLOADS:
        raise ZooError(f"expected one of {', '.join(WORKLOADS)}, got `{name}`")
    return WORKLOADS[name]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and return the exit status."""
    options = parse_arguments(arguments)
    if options.list or options.name is None:
        print(list_workloads())
        return 0
    try:
        module = workload(options.name).module(
            options.size,
            options.batch,
            options.dtype,
            options.divide,
            options.seed,
            options.layers,
        )
    except ZooError as error:
        print(f"zoo: error: {error}", file=sys.stderr)
        return 1
    Printer().print_op(module)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
