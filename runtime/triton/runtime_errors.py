"""Launch of Triton kernels: errors, one class per cause."""


class TritonRuntimeError(RuntimeError):
    """A plan cannot be loaded or run."""


class PlanError(TritonRuntimeError):
    """The text of a plan is malformed, or its kernels do not match their checksums."""


class GuardError(TritonRuntimeError):
    """
    An input does not have the dtype, shape or layout that the plan was compiled for.
    """


class UnavailableError(TritonRuntimeError):
    """Torch or Triton is missing, or cannot run kernels in this process."""


class CaptureError(TritonRuntimeError):
    """Launches cannot be captured in a CUDA graph, or their graph cannot be started."""


class KernelError(TritonRuntimeError):
    """A kernel failed while running, or a sanitizer found a fault in it."""


def make_kernel_error(name: str, error: Exception) -> TritonRuntimeError:
    """
    Return an error that names the kernel that failed; errors of this module as they
    are.
    """
    if isinstance(error, TritonRuntimeError):
        return error
    cause = error.__cause__ or error
    is_known = isinstance(cause, KernelError)
    text = f"{cause}" if is_known else f"{type(cause).__name__}: {cause}"
    return KernelError(f"kernel '{name}': {text}")
