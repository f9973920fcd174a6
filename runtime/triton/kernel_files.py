"""
Launch of Triton kernels: sources as importable files, named by the hash of their text.

Triton reads the source of a kernel from its file. Files are shared by all processes of
a user, so that a file is renamed to its final name when it is complete.
"""

import os
import sys
import tempfile
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from tlf.runtime.triton.launch_plan import Kernel
from tlf.runtime.triton.runtime_errors import KernelError


def cache_directory() -> Path:
    """
    Return the folder of kernel files: in TLF_CACHE_DIR if set, else in the user's
    cache.
    """
    if folder := os.environ.get("TLF_CACHE_DIR"):
        return Path(folder) / "triton"
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "tlf" / "triton"


def write_kernel_file(kernel: Kernel) -> Path:
    """
    Return the file with the source of `kernel`; it is written if it does not exist.
    """
    path = cache_directory() / f"tlf_{kernel.sha256[:32]}.py"
    source = kernel.source.encode()
    try:
        if not path.is_file() or path.read_bytes() != source:
            _write_file_atomically(path, source)
    except OSError as error:
        raise KernelError(
            f"kernel '{kernel.name}': cannot write {path}: {error}"
        ) from (error)
    return path


def import_kernel_function(kernel: Kernel) -> object:
    """
    Return the Triton function of `kernel`, imported from its file once per process.
    """
    path = write_kernel_file(kernel)
    module_name = f"_{path.stem}"
    if (module := sys.modules.get(module_name)) is None:
        spec = spec_from_file_location(module_name, path)
        if spec is None or spec.loader is None:
            raise KernelError(f"kernel '{kernel.name}': cannot import {path}")
        module = module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except Exception as error:
            raise KernelError(f"kernel '{kernel.name}': {error}") from error
        sys.modules[module_name] = module
    if not hasattr(module, kernel.name):
        raise KernelError(f"kernel '{kernel.name}': its source defines no such name")
    return getattr(module, kernel.name)


def _write_file_atomically(path: Path, source: bytes) -> None:
    """
    Write `source` to a temporary file in the same folder, and rename it to `path`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.stem)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(source)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
