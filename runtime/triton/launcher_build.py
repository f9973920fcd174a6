"""
Compilation of Triton kernels: build of the launchers, ahead of the first launch.

Triton launches a kernel through a Python module in C, which depends on the types of the
parameters only. It is compiled at the first launch, one at a time and for a quarter of
a second, unless it is in Triton's cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from threading import Thread
from typing import Any

from tlf.runtime.triton.dtypes import DESCRIPTOR


def compile_with_launcher(
    types: Sequence[str], compile_kernel: Callable[[], Any]
) -> Any:
    """
    Return the result of a function that compiles a kernel with parameters of some types
    for an NVIDIA GPU, and build its launcher into Triton's cache; at the same time
    unless that depends on how descriptors are compiled. The GPU need not be present.
    """
    if any(each.startswith(DESCRIPTOR) for each in types):
        compiled = compile_kernel()
        _build_launcher(types, compiled.metadata.tensordesc_meta)
        return compiled
    builder = Thread(target=_build_launcher, args=(types, None))
    builder.start()
    try:
        return compile_kernel()
    finally:
        builder.join()


def _build_launcher(types: Sequence[str], descriptors: object) -> None:
    """Build a launcher as Triton does. Errors are left to the first launch."""
    with suppress(Exception):
        driver: Any = import_module("triton.backends.nvidia.driver")
        driver.compile_module_from_src(
            src=driver.make_launcher({}, dict(enumerate(types)), descriptors),
            name="__triton_launcher",
            library_dirs=driver.library_dirs(),
            include_dirs=driver.include_dirs,
            libraries=driver.libraries,
        )
