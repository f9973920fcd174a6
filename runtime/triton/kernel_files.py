"""
Launch of Triton kernels: sources as importable files, named by the hash of their text.

Triton reads the source of a kernel from its file. Files are shared by all processes of
a user, in the folder of the cache; if that cannot be written, they are in a temporary
folder of the process.
"""

import linecache
import sys
import tempfile
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from tlf.runtime.storage.atomic_files import write_file_atomically
from tlf.runtime.storage.cache_entries import KERNEL_SOURCES
from tlf.runtime.storage.cache_settings import LOG, cache_directory
from tlf.runtime.storage.cache_store import mark_as_used
from tlf.runtime.triton.launch_plan import Kernel
from tlf.runtime.triton.runtime_errors import KernelError


def write_kernel_file(kernel: Kernel) -> Path:
    """
    Return the file with the source of `kernel`; it is written if it does not exist.
    """
    try:
        return _write_in_folder(kernel, cache_directory() / KERNEL_SOURCES)
    except OSError as error:
        LOG.debug("kernel sources are in a temporary folder: %s", error)
    return _write_in_process_folder(kernel)


def import_kernel_function(kernel: Kernel) -> object:
    """
    Return the Triton function of `kernel`, imported from its file once per process.
    """
    path = write_kernel_file(kernel)
    module_name = f"_{path.stem}"
    if (module := sys.modules.get(module_name)) is None:
        try:
            module = _import_file(kernel, module_name, path)
        except OSError as error:
            # Another process has removed the file from the cache.
            LOG.debug("cannot import %s: %s", path, error)
            path = _write_in_process_folder(kernel)
            module = _import_file(kernel, module_name, path)
        sys.modules[module_name] = module
    if not hasattr(module, kernel.name):
        raise KernelError(f"kernel '{kernel.name}': its source defines no such name")
    return getattr(module, kernel.name)


def _import_file(kernel: Kernel, module_name: str, path: Path) -> ModuleType:
    """
    Return the module of a kernel file. Raises `OSError` if the file cannot be read, and
    `KernelError` for errors in the source.
    """
    spec = spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise KernelError(f"kernel '{kernel.name}': cannot import {path}")
    _pin_source_lines(path, kernel.source)
    module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except OSError:
        raise
    except Exception as error:
        raise KernelError(f"kernel '{kernel.name}': {error}") from error
    return module


def _pin_source_lines(path: Path, source: str) -> None:
    """
    Give the lines of a file to Python's cache of lines, from which Triton reads them
    later, even if the file is evicted from the cache of programs.
    """
    lines = source.splitlines(keepends=True)
    linecache.cache[str(path)] = (len(source), None, lines, str(path))


def _write_in_folder(kernel: Kernel, folder: Path) -> Path:
    """Return the file of a kernel in a folder. Raises `OSError`."""
    path = folder / f"tlf_{kernel.sha256[:32]}.py"
    source = kernel.source.encode()
    if not path.is_file() or path.read_bytes() != source:
        write_file_atomically(path, source)
    else:
        mark_as_used(path)
    return path


def _write_in_process_folder(kernel: Kernel) -> Path:
    """
    Return the file of a kernel in a temporary folder. Raises `KernelError` if there is
    no such folder either.
    """
    try:
        return _write_in_folder(kernel, Path(_open_process_folder().name))
    except OSError as error:
        raise KernelError(
            f"kernel '{kernel.name}': cannot write its source: {error}"
        ) from error


@cache
def _open_process_folder() -> tempfile.TemporaryDirectory[str]:
    """Return a folder that is removed when the process ends."""
    return tempfile.TemporaryDirectory(prefix="tlf-kernels-")
