"""
Launch of Triton kernels: selection of CUDA, or of Triton's interpreter on the CPU.

Triton reads its mode once, on import. `select_device` therefore decides before anything
else of this package imports Triton.
"""

import os
import sys
from importlib import import_module
from types import ModuleType

from tlf.runtime.triton.runtime_errors import UnavailableError

_MODE = "TRITON_INTERPRET"


def select_device() -> str:
    """
    Initialize Triton and return the torch device of its buffers, `cuda` or `cpu`.

    With TRITON_INTERPRET=1, or without a CUDA device, kernels run in Triton's
    interpreter, with its numerical faults repaired. Raises `UnavailableError` if torch
    or Triton is not installed, or if Triton was imported in the other mode.
    """
    if not choose_interpreter_mode():
        _import_required_module("triton")
        _check_interpreter_mode(is_interpreted=False)
        return "cuda"
    _import_required_module("triton")
    _check_interpreter_mode(is_interpreted=True)
    import_module("tlf.runtime.triton.interpreter").install_interpreter_repairs()
    return "cpu"


def choose_interpreter_mode() -> bool:
    """
    Return `True` if kernels run in the interpreter, and set Triton's mode if it has not
    been imported yet. Call it before anything that may import Triton, such as
    `torch.export`.
    """
    torch = _import_required_module("torch")
    if os.environ.get(_MODE) != "1" and torch.cuda.is_available():
        return False
    if "triton" not in sys.modules:
        os.environ[_MODE] = "1"
    return True


def _import_required_module(name: str) -> ModuleType:
    """Import `name`. Raises `UnavailableError` with instructions if that fails."""
    try:
        return import_module(name)
    except ImportError as error:
        raise UnavailableError(
            f"the triton target needs {name}, which cannot be imported ({error}); "
            f"install the extra 'torch': pip install -e '.[torch]'"
        ) from error


def _check_interpreter_mode(*, is_interpreted: bool) -> None:
    """Raise `UnavailableError` if Triton was imported in the other mode."""
    # Triton's library functions have the mode from the time of their definition.
    library = import_module("triton.language.standard")
    if (type(library.sum).__name__ == "InterpretedFunction") == is_interpreted:
        return
    if is_interpreted:
        raise UnavailableError(
            f"no CUDA device, and triton was imported without its interpreter; "
            f"set {_MODE}=1 before triton is imported"
        )
    raise UnavailableError(
        f"triton was imported with {_MODE}=1, which is now unset; expected one mode "
        f"for the whole process"
    )
