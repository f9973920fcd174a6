"""
Launch of Triton kernels: launch plan decoded from JSON, with kernels, buffers and
launches in order.

A plan is one JSON object:

    {"schema": "tlf-triton-plan", "version": 5, "function": "main",
     "kernels": [{"name": "main_0", "sha256": "...", "source": "import triton...",
                  "grid": [16], "num_warps": 4, "num_stages": 3,
                  "arguments": ["p0", "p1", "i0"],
                  "descriptors": [{"argument": "p0", "dtype": "f16", "offset": 0,
                                   "shape": [64, 8], "strides": [8, 1],
                                   "box": [16, 8]}]}],
     "buffers": [{"name": "x", "kind": "argument", "dtype": "f32", "shape": [64, 8],
                  "strides": [1, 64]},
                 {"name": "buffer", "kind": "temporary", ..., "offset": 0},
                 {"name": "early", "kind": "temporary", ..., "offset": 0,
                  "result": "result0"},
                 {"name": "constant0", "kind": "constant", ..., "data": "<base64>"}],
     "arena_bytes": 1024, "arguments": ["x"], "results": ["result0"],
     "steps": [{"launch": "main_0", "arguments": [{"buffer": "x"}, {"index": "h0"}]},
               {"loop": "h0", "lower": 0, "upper": 4, "step": 1, "steps": [...]}]}

All buffers are dense in memory. `kind` is `argument`, `result`, `temporary` or
`constant`. Arguments and results have strides in elements unless they are row-major, as
all others are. The data of a constant is little-endian. Temporaries are parts of one
arena, or of the result that they name, and may share bytes: a step may overwrite those
that no later step reads. After its arguments a kernel takes tensor descriptors, each of
a view of an argument's buffer; the key is absent if there are none. In version 4 no
result contains temporaries; version 3 is the same without descriptors, version 2 also
without strides.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from tlf.runtime.triton import dtypes
from tlf.runtime.triton.json_record import JsonRecord
from tlf.runtime.triton.runtime_errors import PlanError
from tlf.support.affine.axis_orders import Order
from tlf.support.affine.dense_strides import axis_order_of_strides

SCHEMA = "tlf-triton-plan"

VERSIONS = (2, 3, 4, 5)
"""Versions that are read."""

MARKER = "# plan"
"""Line before the JSON object in texts that begin with kernel sources."""

ARENA_ALIGNMENT = 16
"""Alignment of temporaries in bytes, which vector accesses need."""

_KINDS = ("argument", "result", "temporary", "constant")


@dataclass(frozen=True)
class Descriptor:
    """
    Tensor descriptor that a kernel takes: a view of the buffer of an argument, given by
    its index, and the box that is loaded. Extents, strides and offset are in elements.
    """

    argument: int
    dtype: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]


@dataclass(frozen=True)
class Kernel:
    """
    One Triton kernel: a Python source with a function `name`, and its launch
    parameters.
    """

    name: str
    sha256: str
    source: str
    grid: tuple[int, ...]
    num_warps: int
    num_stages: int
    arguments: tuple[str, ...]
    descriptors: tuple[Descriptor, ...] = ()
    """Descriptors that the kernel takes after its arguments."""

    @property
    def is_dependent(self) -> bool:
        """True if the kernel waits for the launch before it, and may start early."""
        return "gdc_wait()" in self.source

    def with_source(self, source: str) -> Kernel:
        """Return the kernel with another source, and its digest."""
        return replace(self, source=source, sha256=_digest_of(source))


def _digest_of(source: str) -> str:
    return hashlib.sha256(source.encode()).hexdigest()


@dataclass(frozen=True)
class DeviceBuffer:
    """
    A dense array in device memory; `data` are the bytes of a constant, and `offset` is
    the place of a temporary in the arena or in a result, in bytes.
    """

    name: str
    kind: str
    dtype: str
    shape: tuple[int, ...]
    data: bytes = b""
    offset: int = 0
    strides: tuple[int, ...] | None = None
    """Strides in elements; `None` for row-major order."""
    result: str | None = None
    """Name of the result that contains a temporary; `None` for the arena."""

    @property
    def axis_order(self) -> Order | None:
        """Axes in memory order, outermost first; `None` for row-major order."""
        if self.strides is None:
            return None
        return axis_order_of_strides(self.shape, self.strides)

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * dtypes.numpy_dtype(self.dtype).itemsize


@dataclass(frozen=True)
class Launch:
    """One launch of `kernel`; an argument is a buffer or the index of a host loop."""

    kernel: str
    arguments: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class HostLoop:
    """A host loop that runs `steps` with `index` = lower, lower + step, ... < upper."""

    index: str
    lower: int
    upper: int
    step: int
    steps: tuple[Launch | HostLoop, ...]


@dataclass(frozen=True)
class Plan:
    """Launch plan of one compiled function: kernels, buffers and steps."""

    function: str
    kernels: tuple[Kernel, ...]
    buffers: tuple[DeviceBuffer, ...]
    arena_bytes: int
    """Size of the memory of all temporaries but those in results."""
    arguments: tuple[str, ...]
    results: tuple[str, ...]
    steps: tuple[Launch | HostLoop, ...]

    def buffer_named(self, name: str) -> DeviceBuffer:
        return next(buffer for buffer in self.buffers if buffer.name == name)

    def argument_axis_orders(self) -> list[Order | None]:
        """Return the axes of each argument in memory; `None` for row-major order."""
        buffers = {each.name: each for each in self.buffers}
        return [buffers[name].axis_order for name in self.arguments]


def iterate_launches(steps: Sequence[Launch | HostLoop]) -> Iterator[Launch]:
    """Yield the launches of a plan, those in loops once."""
    for step in steps:
        if isinstance(step, HostLoop):
            yield from iterate_launches(step.steps)
        else:
            yield step


def find_described_buffers(plan: Plan) -> frozenset[str]:
    """Return the names of the buffers of which kernels take descriptors."""
    described = {
        kernel.name: {each.argument for each in kernel.descriptors}
        for kernel in plan.kernels
    }
    return frozenset(
        name
        for launch in iterate_launches(plan.steps)
        for index, (_, name) in enumerate(launch.arguments)
        if index in described.get(launch.kernel, ())
    )


def find_accessed_buffers(plan: Plan) -> frozenset[str]:
    """Return the names of the buffers that launches access."""
    return frozenset(
        name
        for launch in iterate_launches(plan.steps)
        for kind, name in launch.arguments
        if kind == "buffer"
    )


def find_buffer_launches(plan: Plan) -> Sequence[Launch]:
    """Return the first launch of each kernel whose arguments are all buffers."""
    first_launches: dict[str, Launch] = {}
    for launch in iterate_launches(plan.steps):
        if all(kind == "buffer" for kind, _ in launch.arguments):
            first_launches.setdefault(launch.kernel, launch)
    return [*first_launches.values()]


def load_plan(source: str | Mapping[str, object]) -> Plan:
    """
    Read a plan from its JSON text, from kernel sources followed by that text, or from
    the decoded JSON object. Raises `PlanError`.
    """
    record = JsonRecord.from_json_object(_decode_source(source), "plan")
    if (schema := record.text_under_key("schema")) != SCHEMA:
        raise PlanError(f"plan.schema: expected '{SCHEMA}', got '{schema}'")
    if (version := record.integer_under_key("version")) not in VERSIONS:
        expected = " or ".join(map(str, VERSIONS))
        raise PlanError(f"plan.version: expected {expected}, got {version}")
    plan = Plan(
        record.text_under_key("function"),
        tuple(_decode_kernel(entry) for entry in record.records_under_key("kernels")),
        tuple(_decode_buffer(entry) for entry in record.records_under_key("buffers")),
        record.integer_under_key("arena_bytes"),
        record.texts_under_key("arguments"),
        record.texts_under_key("results"),
        tuple(_decode_step(entry) for entry in record.records_under_key("steps")),
    )
    _check_referenced_names(plan)
    _check_places_of_temporaries(plan)
    _check_step_references(plan, plan.steps, frozenset())
    return plan


def _decode_source(source: str | Mapping[str, object]) -> object:
    """
    Return the JSON object of a text, after the line `MARKER` if sources come first.
    """
    if not isinstance(source, str):
        return source
    text = source
    if not text.lstrip().startswith("{"):
        _, marker, text = source.rpartition(f"\n{MARKER}\n")
        if not marker:
            raise PlanError(f"expected a JSON object or a line '{MARKER}', got neither")
    try:
        return cast(object, json.loads(text))
    except json.JSONDecodeError as error:
        raise PlanError(f"plan is not JSON: {error}") from error


def _decode_kernel(record: JsonRecord) -> Kernel:
    """Return a kernel. Raises `PlanError` for a bad name, grid or source digest."""
    kernel = Kernel(
        record.text_under_key("name"),
        record.text_under_key("sha256"),
        record.text_under_key("source"),
        record.integers_under_key("grid"),
        record.integer_under_key("num_warps"),
        record.integer_under_key("num_stages"),
        record.texts_under_key("arguments"),
        _decode_descriptors(record),
    )
    if not kernel.name.isidentifier():
        raise PlanError(f"{record.path}.name: '{kernel.name}' is not an identifier")
    if not 1 <= len(kernel.grid) <= 3 or min(kernel.grid) < 1:
        raise PlanError(
            f"{record.path}.grid: expected 1 to 3 positive sizes, got {kernel.grid}"
        )
    digest = _digest_of(kernel.source)
    if digest != kernel.sha256:
        raise PlanError(f"{record.path}.sha256: expected {digest}, got {kernel.sha256}")
    return kernel


def _decode_descriptors(record: JsonRecord) -> tuple[Descriptor, ...]:
    """
    Return the descriptors of a kernel. Raises `PlanError` for an unknown argument or
    element type, or extents, strides and a box of different ranks.
    """
    if not record.has_key("descriptors"):
        return ()
    arguments = record.texts_under_key("arguments")
    descriptors: list[Descriptor] = []
    for entry in record.records_under_key("descriptors"):
        name, dtype = entry.text_under_key("argument"), entry.text_under_key("dtype")
        if name not in arguments:
            raise PlanError(f"{entry.path}.argument: no argument '{name}'")
        if not dtypes.is_plan_dtype(dtype):
            raise PlanError(f"{entry.path}.dtype: unknown element type '{dtype}'")
        shape, strides, box = map(entry.integers_under_key, ("shape", "strides", "box"))
        if not len(shape) == len(strides) == len(box):
            raise PlanError(
                f"{entry.path}: expected a shape, strides and a box of one rank, got "
                f"{shape}, {strides} and {box}"
            )
        offset = entry.integer_under_key("offset")
        index = arguments.index(name)
        descriptors.append(Descriptor(index, dtype, offset, shape, strides, box))
    return tuple(descriptors)


def _decode_buffer(record: JsonRecord) -> DeviceBuffer:
    """
    Return a buffer. Raises `PlanError` for a bad kind, dtype, shape, strides or data
    size.
    """
    name, kind, dtype = (
        record.text_under_key("name"),
        record.text_under_key("kind"),
        record.text_under_key("dtype"),
    )
    shape = record.integers_under_key("shape")
    if kind not in _KINDS:
        raise PlanError(f"{record.path}.kind: expected one of {_KINDS}, got '{kind}'")
    if not dtypes.is_plan_dtype(dtype):
        raise PlanError(f"{record.path}.dtype: unknown element type '{dtype}'")
    if any(extent < 0 for extent in shape):
        raise PlanError(f"{record.path}.shape: got a negative extent in {shape}")
    strides = _decode_strides(record, kind, shape)
    if kind == "temporary":
        offset = record.integer_under_key("offset")
        is_in_result = record.has_key("result")
        result = record.text_under_key("result") if is_in_result else None
        return DeviceBuffer(name, kind, dtype, shape, offset=offset, result=result)
    if kind != "constant":
        return DeviceBuffer(name, kind, dtype, shape, strides=strides)
    buffer = DeviceBuffer(name, kind, dtype, shape, _decode_bytes(record))
    if len(buffer.data) != buffer.nbytes:
        raise PlanError(
            f"{record.path}.data: expected {buffer.nbytes} bytes, "
            f"got {len(buffer.data)}"
        )
    return buffer


def _decode_strides(
    record: JsonRecord, kind: str, shape: tuple[int, ...]
) -> tuple[int, ...] | None:
    """
    Return the strides of a buffer, `None` without that key. Raises `PlanError` unless
    they are those of a dense argument or result.
    """
    if not record.has_key("strides"):
        return None
    strides = record.integers_under_key("strides")
    if kind not in ("argument", "result"):
        raise PlanError(
            f"{record.path}.strides: expected none of a {kind}, got {strides}"
        )
    if len(strides) != len(shape) or axis_order_of_strides(shape, strides) is None:
        raise PlanError(
            f"{record.path}.strides: expected strides of a dense tensor of shape "
            f"{shape}, got {strides}"
        )
    return strides


def _decode_bytes(record: JsonRecord) -> bytes:
    """Decode the base64 text under `data`. Raises `PlanError` if it is invalid."""
    try:
        return base64.b64decode(record.text_under_key("data"), validate=True)
    except binascii.Error as error:
        raise PlanError(f"{record.path}.data: {error}".lower()) from error


def _decode_step(record: JsonRecord) -> Launch | HostLoop:
    """
    Return a `Launch` if the record has that key, else a `HostLoop` with its steps.
    """
    if record.has_key("launch"):
        arguments = record.records_under_key("arguments")
        return Launch(
            record.text_under_key("launch"),
            tuple(_decode_argument(a) for a in arguments),
        )
    if (step := record.integer_under_key("step")) < 1:
        raise PlanError(f"{record.path}.step: expected a positive step, got {step}")
    return HostLoop(
        record.text_under_key("loop"),
        record.integer_under_key("lower"),
        record.integer_under_key("upper"),
        step,
        tuple(_decode_step(entry) for entry in record.records_under_key("steps")),
    )


def _decode_argument(record: JsonRecord) -> tuple[str, str]:
    """Return the kind of a launch argument, `buffer` or `index`, and its name."""
    for kind in ("buffer", "index"):
        if record.has_key(kind):
            return kind, record.text_under_key(kind)
    raise PlanError(f"{record.path}: expected `buffer` or `index`")


def _check_referenced_names(plan: Plan) -> None:
    """Raise `PlanError` for repeated names, or lists that do not match the buffers."""
    for label, names in (
        ("kernel", [kernel.name for kernel in plan.kernels]),
        ("buffer", [buffer.name for buffer in plan.buffers]),
    ):
        if repeated := sorted({name for name in names if names.count(name) > 1}):
            raise PlanError(f"plan: {label} '{repeated[0]}' is defined twice")
    for kind, listed in (("argument", plan.arguments), ("result", plan.results)):
        defined = [buffer.name for buffer in plan.buffers if buffer.kind == kind]
        if sorted(defined) != sorted(listed):
            raise PlanError(
                f"plan.{kind}s: expected {sorted(defined)}, got {sorted(listed)}"
            )


def _check_places_of_temporaries(plan: Plan) -> None:
    """
    Raise `PlanError` for a temporary that is unaligned, or outside of the arena or of
    the result that it names.
    """
    sizes = {each.name: each.nbytes for each in plan.buffers if each.kind == "result"}
    for buffer in plan.buffers:
        if buffer.kind != "temporary":
            continue
        if buffer.offset % ARENA_ALIGNMENT:
            raise PlanError(
                f"plan: temporary '{buffer.name}': expected an offset that is a "
                f"multiple of {ARENA_ALIGNMENT}, got {buffer.offset}"
            )
        place = "the arena"
        size, end = plan.arena_bytes, buffer.offset + buffer.nbytes
        if buffer.result is not None:
            place, size = f"result '{buffer.result}'", sizes.get(buffer.result, 0)
        if buffer.offset < 0 or end > size:
            raise PlanError(
                f"plan: temporary '{buffer.name}': expected bytes within the {size} of "
                f"{place}, got {buffer.offset} to {end}"
            )


def _check_step_references(
    plan: Plan, steps: tuple[Launch | HostLoop, ...], indices: frozenset[str]
) -> None:
    """
    Raise `PlanError` for a launch of an unknown kernel or with wrong arguments;
    `indices` are those of the enclosing loops.
    """
    kernels = {kernel.name: kernel for kernel in plan.kernels}
    names = {
        "buffer": {buffer.name for buffer in plan.buffers},
        "index": indices,
    }
    for step in steps:
        if isinstance(step, HostLoop):
            _check_step_references(plan, step.steps, indices | {step.index})
            continue
        if (kernel := kernels.get(step.kernel)) is None:
            raise PlanError(f"plan: launch of unknown kernel '{step.kernel}'")
        if len(step.arguments) != len(kernel.arguments):
            raise PlanError(
                f"plan: kernel '{kernel.name}' takes {len(kernel.arguments)} "
                f"arguments, got {len(step.arguments)}"
            )
        for kind, name in step.arguments:
            if name not in names[kind]:
                raise PlanError(f"plan: launch of '{kernel.name}': no {kind} '{name}'")
