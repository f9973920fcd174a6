"""Backends: compilation of a module that consults the cache of emitted programs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import ModuleOp

from tlf.compiler.backends.backends import CompilingBackend
from tlf.compiler.backends.canonical_text import UncachedProgramError
from tlf.compiler.backends.compilation_key import compute_compilation_key
from tlf.compiler.backends.emitted_program import EmittedProgram
from tlf.compiler.backends.executables import Executable, Signature
from tlf.compiler.backends.program_cache import ProgramCache
from tlf.compiler.driver.entry_function import entry_function_of
from tlf.runtime.storage.cache_settings import LOG
from tlf.runtime.storage.cache_store import open_cache


@dataclass(frozen=True)
class Compilation:
    """Result of a compilation: an emitted program, and the executable built from it."""

    signature: Signature
    emitted: EmittedProgram
    executable: Executable
    is_cached: bool = False
    """True if the emitted program was in the cache."""


def compile_with_cache(
    module: ModuleOp,
    backend: CompilingBackend,
    emit: Callable[[], tuple[Signature, EmittedProgram]],
    uses_cache: bool = True,
) -> Compilation:
    """
    Return the program of the cache for a verified module; if there is none, or it
    cannot be loaded, that of `emit`, which is stored then.
    """
    files = open_cache() if uses_cache else None
    key = None if files is None else _find_key(module, backend)
    if files is None or key is None:
        return _emit_and_build(backend, emit)
    cache = ProgramCache(files)
    if (emitted := cache.find(key)) is not None:
        try:
            signature = _signature_of(module, backend, emitted)
            return replace(_build(backend, signature, emitted), is_cached=True)
        except Exception as error:
            # The compiler finds out whether the program or the machine is at fault.
            LOG.debug("cannot load %s: %s", key, error)
    result = _emit_and_build(backend, emit)
    cache.store(key, result.emitted, result.signature.name, backend.target.name)
    return result


def _find_key(module: ModuleOp, backend: CompilingBackend) -> str | None:
    """Return the key of a compilation, or `None` if it is not cached."""
    if backend.passes is not None:
        return None
    try:
        return compute_compilation_key(module, backend.target, backend.entry)
    except (UncachedProgramError, OSError) as error:
        LOG.debug("not cached: %s", error)
        return None


def _signature_of(
    module: ModuleOp, backend: CompilingBackend, emitted: EmittedProgram
) -> Signature:
    """Return the signature of a module's entry, with the emitted preparation."""
    signature = Signature.from_function(entry_function_of(module, backend.entry))
    return replace(signature, preparation=emitted.preparation)


def _emit_and_build(
    backend: CompilingBackend, emit: Callable[[], tuple[Signature, EmittedProgram]]
) -> Compilation:
    """Compile a program; processes that compile its kernels start meanwhile."""
    if backend.target.backend == "triton":
        from tlf.runtime.triton.kernel_prefetch import start_workers_for_gpu

        start_workers_for_gpu()
    return _build(backend, *emit())


def _build(
    backend: CompilingBackend, signature: Signature, emitted: EmittedProgram
) -> Compilation:
    executable = emitted.build_executable(signature, backend.side_file_folder)
    return Compilation(signature, emitted, executable)
