"""
Workloads as programs of whole tensors: networks, layers and random graphs.

    python bench/zoo.py --list
    python bench/zoo.py bottleneck --size 224 --dtype f16 > bottleneck.mlir
    python bench/zoo.py resnet50 --size 32 --divide 8 --dtype f32 > small.mlir
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import zoo_residual
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from zoo_builder import ELEMENTS, Sizes

FLOATS = ("f16", "bf16", "f32")
ALL = tuple(ELEMENTS)

SMALL = Sizes(8, element="f32", divisor=16)


class ZooError(Exception):
    """A workload that cannot be built; the message is one line."""


@dataclass(frozen=True)
class Workload:
    """A program that can be built in several sizes."""

    build: Callable[[Sizes], ModuleOp]
    text: str
    """What it is, in a line."""
    size: int
    """The usual size."""
    unit: str
    """What the size counts."""
    dtypes: tuple[str, ...] = ALL
    small: Sizes = SMALL
    """Sizes at which it runs in a second on the simulated NPU."""

    def module(
        self,
        size: int | None = None,
        batch: int = 1,
        dtype: str = "f16",
        divisor: int = 1,
        seed: int = 0,
    ) -> ModuleOp:
        """The program, verified. Raises `ZooError` where it does not exist."""
        if dtype not in self.dtypes:
            listed = ", ".join(self.dtypes)
            raise ZooError(f"expected an element type among {listed}, got {dtype}")
        wanted = self.size if size is None else size
        for what, number in (("size", wanted), ("batch", batch), ("divisor", divisor)):
            if number < 1:
                raise ZooError(f"expected a {what} of at least 1, got {number}")
        try:
            module = self.build(Sizes(wanted, batch, dtype, divisor=divisor, seed=seed))
            module.verify()
        except VerifyException as error:
            reason = str(error).splitlines()[-1].strip()
            raise ZooError(
                f"expected sizes that fit, got {wanted} and divisor {divisor}: {reason}"
            ) from error
        return module

    def small_module(self, dtype: str | None = None) -> ModuleOp:
        """The program at its small sizes."""
        sizes = self.small if dtype is None else replace(self.small, element=dtype)
        return self.build(sizes)


WORKLOADS: Mapping[str, Workload] = {
    "bottleneck": Workload(
        zoo_residual.bottleneck,
        "a bottleneck block of 256 channels with its skip",
        56,
        "rows and columns of the image",
    ),
    "resnet18": Workload(
        zoo_residual.resnet18,
        "ResNet-18",
        224,
        "rows and columns of the image",
        small=Sizes(9, element="f32", divisor=16, repeats=1),
    ),
    "resnet50": Workload(
        zoo_residual.resnet50,
        "ResNet-50",
        224,
        "rows and columns of the image",
        small=Sizes(9, element="f32", divisor=32, repeats=1),
    ),
}
"""By name."""

QUICK = tuple(name for name in WORKLOADS if not name.startswith("resnet"))
"""Those that take no time to compile at their small sizes."""


class Options(argparse.Namespace):
    """The command line."""

    name: str | None
    list: bool
    size: int | None
    batch: int
    dtype: str
    divide: int
    seed: int


def parsed(arguments: Sequence[str] | None) -> Options:
    """The command line, read."""
    text = (__doc__ or "").strip().split("\n")[0]
    parser = argparse.ArgumentParser(prog="zoo", description=text)
    parser.add_argument("name", nargs="?", help="a workload of the list")
    parser.add_argument("--list", action="store_true", help="tell what there is")
    parser.add_argument("--size", type=int, help="see the list")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--dtype", default="f16", help=", ".join(ALL))
    parser.add_argument("--divide", type=int, default=1, help="divisor of channels")
    parser.add_argument("--seed", type=int, default=0, help="of random graphs")
    return parser.parse_args(arguments, namespace=Options())


def listed() -> str:
    """The names of all workloads, and what they are."""
    lines = [
        f"{name:<14}{each.text}; size {each.size}: {each.unit}; {' '.join(each.dtypes)}"
        for name, each in WORKLOADS.items()
    ]
    return "\n".join(lines)


def workload(name: str) -> Workload:
    """A workload by its name. Raises `ZooError` where there is none."""
    if name not in WORKLOADS:
        raise ZooError(f"expected one of {', '.join(WORKLOADS)}, got `{name}`")
    return WORKLOADS[name]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    options = parsed(arguments)
    if options.list or options.name is None:
        print(listed())
        return 0
    try:
        module = workload(options.name).module(
            options.size, options.batch, options.dtype, options.divide, options.seed
        )
    except ZooError as error:
        print(f"zoo: error: {error}", file=sys.stderr)
        return 1
    Printer().print_op(module)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
