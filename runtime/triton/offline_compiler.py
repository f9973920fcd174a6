"""
Compilation of the Triton kernels of a plan for a GPU that is not present, in a worker
process.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Self, cast

from tlf.runtime.triton import dtypes
from tlf.runtime.triton.dependent_launch import adapt_to_capability
from tlf.runtime.triton.kernel_admission import (
    KernelFacts,
    KernelVariant,
    admit_kernel_variant,
)
from tlf.runtime.triton.kernel_request import (
    GpuArchitecture,
    KernelAnswer,
    KernelRequest,
)
from tlf.runtime.triton.launch_plan import (
    Kernel,
    Plan,
    iterate_launches,
)
from tlf.runtime.triton.ptx_statistics import PtxStatistics, read_ptx_statistics
from tlf.runtime.triton.runtime_errors import KernelError, UnavailableError
from tlf.runtime.triton.tensor_descriptors import triton_descriptor_types
from tlf.runtime.triton.worker_process import WorkerError, WorkerProcess

CAPABILITY = 90
"""Compute capability of a Hopper GPU, times ten."""

SHARED_LIMITS: Mapping[int, int] = {80: 166912, 86: 101376, 89: 101376, 90: 232448}
"""Maximum bytes of shared memory per program, by compute capability times ten."""


@dataclass(frozen=True)
class KernelResources:
    """
    Resources of one kernel on a GPU. `shared` is in bytes per program; `assembly` is
    `None` if the kernel was compiled but not assembled.
    """

    kernel: str
    grid: tuple[int, ...]
    warps: int
    stages: int
    shared: int
    assembly: PtxStatistics | None
    wrong_descriptors: tuple[str, ...] = ()
    """Faults of the descriptors of matrix products, if the kernel was assembled."""

    @property
    def facts(self) -> KernelFacts:
        """Facts that decide on the admission of the kernel."""
        spilled = 0 if self.assembly is None else self.assembly.spilled_bytes
        return KernelFacts(self.shared, spilled, self.wrong_descriptors)

    def to_record(self) -> dict[str, object]:
        """Return the resources as a flat JSON object."""
        record = asdict(self)
        assembly = cast(dict[str, object] | None, record.pop("assembly"))
        return record | (assembly or {})


class OfflineCompiler:
    """
    Context manager of a worker process that compiles Triton kernels for an absent GPU.

        with OfflineCompiler() as compiler:
            resources = compiler.compile(plan)
    """

    def __init__(self, capability: int = CAPABILITY) -> None:
        self.capability = capability
        self._worker: WorkerProcess | None = None

    def __enter__(self) -> Self:
        """Start the worker process. Raises `UnavailableError` if that fails."""
        try:
            self._worker = WorkerProcess()
        except WorkerError as error:
            raise UnavailableError(f"cannot compile kernels: {error}") from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    def compile_plan_kernels(
        self, plan: Plan, *, assemble: bool = True, admits: bool = True
    ) -> tuple[KernelResources, ...]:
        """
        Compile all kernels of a plan: each in its admitted variant if there is one and
        `admits` is set, else as planned. Without `assemble`, only check that they
        compile.

        Raises `KernelError` for a kernel that does not compile, `UnavailableError` if
        there is no compiler.
        """
        plan = adapt_to_capability(plan, self.capability)
        return tuple(
            self._compile_admitted_variant(kernel, _parameter_types(plan, kernel))
            if assemble and admits
            else self._compile_variant(
                KernelVariant(kernel), _parameter_types(plan, kernel), assemble
            )
            for kernel in plan.kernels
        )

    def _compile_admitted_variant(
        self, kernel: Kernel, types: Sequence[str]
    ) -> KernelResources:
        """
        Return the resources of a kernel as it is launched, or as planned if it is not
        admitted.
        """
        resources: dict[KernelVariant, KernelResources] = {}

        def compile_one(variant: KernelVariant) -> KernelFacts:
            resources[variant] = self._compile_variant(variant, types, True)
            return resources[variant].facts

        limit = SHARED_LIMITS.get(self.capability, max(SHARED_LIMITS.values()))
        try:
            return resources[admit_kernel_variant(kernel, compile_one, limit)]
        except KernelError:
            if (first := resources.get(KernelVariant(kernel))) is None:
                raise
            return first

    def _compile_variant(
        self, variant: KernelVariant, types: Sequence[str], assemble: bool
    ) -> KernelResources:
        """Compile a variant in the worker, and return its resources."""
        kernel = variant.kernel
        # Buffers are aligned, because allocators align them.
        pointers = [index for index, type_ in enumerate(types) if type_[0] == "*"]
        gpu = GpuArchitecture("cuda", self.capability)
        answer = self._send_request(
            KernelRequest(
                variant, tuple(types), tuple(pointers), gpu, assembles=assemble
            )
        )
        if answer.error.startswith("ModuleNotFoundError"):
            raise UnavailableError(f"cannot compile kernels: {answer.error}")
        if answer.error:
            raise KernelError(f"kernel '{kernel.name}': {answer.error}")
        return KernelResources(
            kernel.name,
            kernel.grid,
            answer.warps,
            kernel.num_stages,
            answer.shared,
            read_ptx_statistics(answer.ptx, answer.log) if assemble else None,
            answer.wrong_descriptors,
        )

    def _send_request(self, request: KernelRequest) -> KernelAnswer:
        """Return the answer of the worker. Raises `UnavailableError` if it ended."""
        if self._worker is None:
            raise UnavailableError("the offline compiler is not running")
        try:
            return self._worker.send_request(request)
        except WorkerError as error:
            raise UnavailableError(f"cannot compile kernels: {error}") from error


def _parameter_types(plan: Plan, kernel: Kernel) -> list[str]:
    """Return the types of a kernel's parameters in the syntax of Triton."""
    launches = (
        step for step in iterate_launches(plan.steps) if step.kernel == kernel.name
    )
    if (launch := next(launches, None)) is None:
        raise KernelError(f"kernel '{kernel.name}': nothing launches it")
    types = (
        dtypes.triton_pointer_type(plan.buffer_named(name).dtype)
        if kind == "buffer"
        else "i32"
        for kind, name in launch.arguments
    )
    return [*types, *triton_descriptor_types(kernel)]
