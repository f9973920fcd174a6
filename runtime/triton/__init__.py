"""
Launch of Triton kernels: API that loads a plan printed by the target `triton` and runs
it.

    plan = load_plan(Path("layer.py").read_text())
    outputs = run(plan, {"x": x, "w": w})

Without a CUDA device the kernels run in Triton's interpreter.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tlf.runtime.triton import device_selection
from tlf.runtime.triton.launch_plan import Plan, load_plan
from tlf.runtime.triton.runtime_errors import (
    GuardError,
    KernelError,
    PlanError,
    TritonRuntimeError,
    UnavailableError,
)

if TYPE_CHECKING:
    from tlf.runtime.triton.device_tensors import Array
    from tlf.runtime.triton.executable_plan import Executable, Inputs

__all__ = [
    "GuardError",
    "KernelError",
    "Plan",
    "PlanError",
    "TritonRuntimeError",
    "UnavailableError",
    "load_plan",
    "prepare",
    "run",
]


def prepare(plan: Plan | str | Mapping[str, object]) -> "Executable":
    """Return an executable plan for repeated calls. Raises `TritonRuntimeError`."""
    loaded = plan if isinstance(plan, Plan) else load_plan(plan)
    name = device_selection.select_device()
    # Torch and Triton are optional, and the mode must be set before Triton is imported.
    from tlf.runtime.triton.executable_plan import Executable

    return Executable(loaded, name)


def run(
    plan: Plan | str | Mapping[str, object], inputs: "Inputs"
) -> "dict[str, Array]":
    """
    Run a plan once on `inputs`, by name or in order, and return its results by name.

    Inputs are numpy arrays, or torch tensors with the plan's strides, of the plan's
    dtypes and shapes. Raises `TritonRuntimeError`.
    """
    return prepare(plan)(inputs)
