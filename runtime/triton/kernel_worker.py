"""
Compilation of Triton kernels: worker process, which compiles for a GPU without using
one.

It is a separate process because Triton's compiler is Python for the most part, and must
not be in interpreter mode. Its argument is the file descriptor of a connection to its
parent, on which it receives JSON of `KernelRequest`s and answers each with that of a
`KernelAnswer`. It ends with the connection or with its parent.
"""

import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Thread
from typing import Any

import msgspec

from tlf.runtime.triton.descriptor_check import find_descriptor_faults_of_kernel
from tlf.runtime.triton.kernel_cache import compile_in_folder, compile_through_cache
from tlf.runtime.triton.kernel_files import import_kernel_function
from tlf.runtime.triton.kernel_request import KernelAnswer, KernelRequest
from tlf.runtime.triton.launcher_build import compile_with_launcher
from tlf.runtime.triton.ptxas_selection import use_assembler
from tlf.runtime.triton.requested_kernel import compile_requested_kernel
from tlf.support.call_stack import reserve_stack

CHECK_SECONDS = 0.5
"""Time between checks that the parent is running."""


def main() -> None:
    """Answer requests until the connection is closed."""
    number, parent = map(int, sys.argv[1:])
    Thread(target=_exit_with_parent, args=(parent,), daemon=True).start()
    with Connection(number) as connection, suppress(EOFError, OSError):
        _load_compiler()
        while True:
            data = connection.recv_bytes()
            request = msgspec.json.decode(data, type=KernelRequest)
            connection.send_bytes(msgspec.json.encode(_answer_request(request)))


def _exit_with_parent(parent: int) -> None:
    """
    Exit when the parent has ended, also during a compilation, and if a process that it
    forked holds the connection open.
    """
    while os.getppid() == parent:
        time.sleep(CHECK_SECONDS)
    os._exit(1)


def _load_compiler() -> None:
    """
    Import Triton and compute its part of keys, before the first request. Errors are
    left to the requests.
    """
    with suppress(ImportError):
        import_module("triton.compiler")
        import_module("triton.runtime.cache").triton_key()


@reserve_stack
def _answer_request(request: KernelRequest) -> KernelAnswer:
    """Return facts of the compiled kernel, or the text of any exception as `error`."""
    try:
        return _compile_kernel(request)
    except Exception as error:
        text = " ".join(str(error).split())
        return KernelAnswer(f"{type(error).__name__}: {text}")


def _compile_kernel(request: KernelRequest) -> KernelAnswer:
    """Compile by Triton, and return the facts of the kernel."""
    function: Any = import_kernel_function(request.variant.kernel)

    def compile_kernel() -> Any:
        compile_it = partial(compile_requested_kernel, request, function)
        if request.assembles:
            return compile_it()
        return compile_with_launcher(request.types, compile_it)

    with use_assembler(request.variant.is_newest):
        compiled: Any = (
            compile_in_folder(compile_kernel, Path(request.folder))
            if request.folder
            else compile_through_cache(compile_kernel)
        )
        assembler = str(import_module("triton").knobs.nvidia.ptxas.path)
    if request.key not in ("", compiled.hash):
        raise ValueError(f"expected key {request.key}, got {compiled.hash}")
    facts = KernelAnswer(
        shared=int(compiled.metadata.shared),
        warps=int(compiled.metadata.num_warps),
    )
    if not request.assembles:
        return facts
    ptx = str(compiled.asm["ptx"])
    return replace(
        facts,
        ptx=ptx,
        log=_assemble_ptx(ptx, assembler, request.gpu.arch),
        wrong_descriptors=find_descriptor_faults_of_kernel(compiled),
    )


def _assemble_ptx(ptx: str, assembler: str, capability: int) -> str:
    """
    Assemble a kernel by `ptxas -v`, and return its log; raises `RuntimeError` if it
    fails.
    """
    chip = f"sm_{capability}a" if capability >= 90 else f"sm_{capability}"
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "kernel.ptx")
        source.write_text(ptx)
        result = subprocess.run(
            [assembler, "-v", f"--gpu-name={chip}", source, "-o", f"{folder}/kernel"],
            capture_output=True,
            text=True,
            check=False,
        )
    if result.returncode:
        raise RuntimeError(result.stderr)
    return result.stderr


if __name__ == "__main__":
    main()
