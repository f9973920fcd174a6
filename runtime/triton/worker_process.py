"""Compilation of Triton kernels: handle of a worker process."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from multiprocessing import Pipe

import msgspec

from tlf.runtime.triton.kernel_request import KernelAnswer, KernelRequest

WORKER = "tlf.runtime.triton.kernel_worker"
"""Module that a worker process runs."""


class WorkerError(Exception):
    """A worker process that could not be started, or that ended."""


class WorkerProcess:
    """
    A process that compiles kernels, one at a time. It is a new interpreter, not a fork,
    and does not import the user's script. It has its own process group: Ctrl-C is for
    this process, which ends its workers. Raises `WorkerError` if it does not start.
    """

    def __init__(self) -> None:
        self._connection, other = Pipe()
        arguments = [str(other.fileno()), str(os.getpid())]
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", WORKER, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=_make_environment(),
                pass_fds=[other.fileno()],
                process_group=0,
            )
        except OSError as error:
            self._connection.close()
            raise WorkerError(f"cannot start a worker process: {error}") from error
        finally:
            other.close()

    @property
    def pid(self) -> int:
        """Process id of the worker."""
        return self._process.pid

    def send_request(self, request: KernelRequest) -> KernelAnswer:
        """Return the answer to a request. Raises `WorkerError` if the process ends."""
        try:
            self._connection.send_bytes(msgspec.json.encode(request))
            data = self._connection.recv_bytes()
            return msgspec.json.decode(data, type=KernelAnswer)
        except (OSError, EOFError, msgspec.DecodeError) as error:
            self.kill()
            raise WorkerError(
                f"a worker process ended with status {self._process.returncode} "
                f"at kernel '{request.variant.kernel.name}'"
            ) from error

    def kill(self) -> None:
        """End the process at once; a thread that waits for an answer gets an error."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """End the process, and release the connection to it."""
        self.kill()
        with suppress(OSError):
            self._connection.close()


def _make_environment() -> dict[str, str]:
    """
    Return the environment of a worker, which finds the modules that this process finds
    and does not interpret kernels.
    """
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    return environment | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
