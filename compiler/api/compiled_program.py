"""API: compiled programs, which run on numpy arrays and torch tensors when called."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from tlf.compiler.api.runtime_checks import RuntimeChecks
from tlf.compiler.backends.argument_snapshots import ArgumentSnapshot
from tlf.compiler.backends.backends import select_backend
from tlf.compiler.backends.executables import Buffer, is_torch_tensor
from tlf.compiler.backends.prepared_program import PreparedProgram
from tlf.compiler.driver.compilation_records import CompilationRecords
from tlf.compiler.driver.diagnostics import locate_errors
from tlf.compiler.driver.driver import new_context
from tlf.compiler.driver.entry_function import entry_function_of
from tlf.compiler.driver.module_verifier import verify_module
from tlf.compiler.driver.planning_observers import has_planned_groups
from tlf.compiler.driver.source import Source, read_source
from tlf.compiler.driver.verified_parsing import parse_and_verify
from tlf.compiler.explain.remark_report import collect_remarks
from tlf.compiler.explain.summary import describe_groups
from tlf.dialects.entry_point import argument_types
from tlf.dialects.parameter_attribute import is_parameter
from tlf.dialects.target import TargetSpec
from tlf.dialects.types import dtype_of


class CompiledProgram:
    """
    A compiled function. It is called with its arguments in order or by name: numpy
    arrays or torch tensors of the shapes and dtypes that the program declares. It
    returns a single result, or a tuple of several; these are torch tensors if all
    arguments are.
    """

    def __init__(
        self,
        module: ModuleOp,
        target: str | TargetSpec = "reference",
        entry: str | None = None,
        side_file_folder: Path = Path(),
        passes: str | None = None,
        check_indices: bool = False,
    ) -> None:
        self.module = module
        self.target = target
        started = time.perf_counter()
        self._context = new_context()
        with locate_errors(None, "the target"):
            self._backend = select_backend(target, entry, side_file_folder, passes)
        with locate_errors(module, "the verifier"):
            verify_module(module)
        lowered = module.clone()
        function = entry_function_of(module, entry)
        with locate_errors(function, "the arguments"):
            self.types = argument_types(function)
        function = entry_function_of(lowered, entry)
        self._checked = RuntimeChecks.insert_into(function) if check_indices else None
        self._fixed = [is_parameter(each) for each in function.body.block.args]
        self._kept: dict[str, tuple[ArgumentSnapshot, Buffer]] = {}
        self._records = CompilationRecords()
        manager = self._records.make_pass_manager
        self.signature = self._backend.lower(self._context, lowered, manager)
        self.executable = self._backend.build(self._context, lowered, self.signature)
        self._figures: dict[str, float] = {
            "compile_seconds": time.perf_counter() - started
        }

    def __call__(self, *arguments: Buffer, **named: Buffer) -> Any:
        """Run the program."""
        inputs = self._bind_arguments(arguments, named)
        results = self.run(inputs)
        return results[0] if len(results) == 1 else results

    def run(
        self, inputs: Mapping[str, Buffer], as_tensors: bool | None = None
    ) -> tuple[Buffer, ...]:
        """
        Run the program on arguments by name, and return all results. If `as_tensors` is
        `None`, results are torch tensors if all arguments are.
        """
        self._check_shapes_and_dtypes(inputs)
        if as_tensors is None:
            as_tensors = bool(inputs) and all(map(is_torch_tensor, inputs.values()))
        device = self.executable.device_for(inputs)
        accepted = {
            name: self._convert_for_backend(name, each, device)
            for name, each in inputs.items()
        }
        outcome = self.executable(accepted, device)
        self._figures.update(outcome.figures)
        results_by_name = outcome.results
        if self._checked is not None:
            results_by_name = self._checked.verify_and_strip(results_by_name)
        results = results_by_name.values()
        return tuple(_to_torch_tensor(each) if as_tensors else each for each in results)

    def refresh(self) -> None:
        """
        Recompute the results of the weight preparation at the next call. Changed
        weights are detected without this call, except for writes that PyTorch does not
        count; `tlf.refresh` reports those to all programs.
        """
        self._kept.clear()
        if isinstance(self.executable, PreparedProgram):
            self.executable.invalidate_preparation()

    def _bind_arguments(
        self, arguments: Sequence[Buffer], named: Mapping[str, Buffer]
    ) -> Mapping[str, Buffer]:
        """
        Map all arguments to input names. Raises `TypeError` if any is missing or extra.
        """
        names = self.signature.inputs
        inputs = dict(zip(names, arguments, strict=False)) | dict(named)
        if len(arguments) > len(names) or set(inputs) != set(names):
            listed = ", ".join(names) or "none"
            got = ", ".join([*map(str, range(len(arguments))), *named]) or "none"
            raise TypeError(f"expected arguments {listed}, got {got}")
        return inputs

    def _check_shapes_and_dtypes(self, inputs: Mapping[str, Buffer]) -> None:
        """Raise `TypeError` at the first input that differs from its declared type."""
        for name, expected, kind in self._expected_arguments:
            value = inputs[name]
            if value.shape != expected:
                shape = tuple(value.shape)
                raise TypeError(
                    f"argument `{name}`: expected shape {expected}, got {shape}"
                )
            if (dtype := _dtype_name_of(value.dtype)) != kind:
                raise TypeError(f"argument `{name}`: expected {kind}, got {dtype}")

    def _convert_for_backend(self, name: str, value: Buffer, device: Any) -> Buffer:
        """
        Return `value` in the form that the backend takes: as it is, as a row-major copy
        on `device`, or as a numpy array.
        """
        if not is_torch_tensor(value):
            return value
        if self.executable.takes_tensors:
            if value.is_contiguous() and device in (None, value.device):
                return value
            return self._copy_to_device(name, value, device)
        from tlf.frontend.torch.element_types import to_array

        return to_array(value)

    def _copy_to_device(self, name: str, value: Buffer, device: Any) -> Buffer:
        """
        Return a row-major copy on a device. The copy of a weight is cached until the
        weight or the device changes.
        """
        device = device or value.device
        if name not in self._weight_names:
            return value.detach().to(device).contiguous()
        cached = self._kept.get(name)
        if (
            cached is None
            or cached[1].device != device
            or not cached[0].is_unchanged(value)
        ):
            copy = value.detach().to(device).contiguous()
            cached = self._kept[name] = ArgumentSnapshot(value), copy
        return cached[1]

    @cached_property
    def _weight_names(self) -> frozenset[str]:
        """Names of the arguments that are weights."""
        inputs = self.signature.inputs
        pairs = zip(inputs, self._fixed[: len(inputs)], strict=True)
        return frozenset(name for name, is_fixed in pairs if is_fixed)

    @cached_property
    def _expected_arguments(self) -> Sequence[tuple[str, tuple[int, ...], str]]:
        """
        Declared name, shape and dtype name of each argument, in the order of the
        signature.
        """
        return [
            (name, tuple(type_.get_shape()), dtype_of(type_.element_type).name)
            for name, type_ in zip(self.signature.inputs, self.types, strict=True)
        ]

    @property
    def stats(self) -> Mapping[str, float]:
        """
        Statistics of the cost: `compile_seconds`; of the last run on an NPU cycles,
        seconds and bytes by level; on a GPU the number of kernels.
        """
        return dict(self._figures)

    @property
    def stages(self) -> tuple[str, ...]:
        """Valid arguments of `ir`: `input`, each pass, and the generated texts."""
        return ("input", *self._records.stages, *self.executable.artifacts)

    def ir(self, stage: str = "input") -> str:
        """Return the program at a stage. Raises `KeyError` for an unknown stage."""
        if stage in self.executable.artifacts:
            return self.executable.artifacts[stage]
        stages = {"input": self.module, **self._records.stages}
        if stage not in stages:
            raise KeyError(f"expected a stage among {', '.join(self.stages)}")
        return f"{stages[stage]!s}\n"

    def explain(self) -> str:
        """
        Return a description of the groups: a line with the plan of each, then its lower
        bound and predicted time where known. Remarks of passes follow: rewrites that
        were applied, and rewrites that were missed with the reason.
        """
        return self._explanation

    @cached_property
    def _explanation(self) -> str:
        """
        Description of planned groups with remarks, or a sentence if there are none.
        """
        planned = self._records.planned_module
        if planned is None or not has_planned_groups(planned):
            return "the reference runs each operation by itself"
        return describe_groups(planned, collect_remarks(self._records))


@cache
def _dtype_name_of(dtype: object) -> str:
    """Return the name of a numpy or torch dtype."""
    return str(dtype).removeprefix("torch.")


def _to_torch_tensor(value: Buffer) -> Buffer:
    """Return a torch tensor unchanged, and a numpy array converted to a tensor."""
    if is_torch_tensor(value):
        return value
    from tlf.frontend.torch.element_types import to_tensor

    return to_tensor(value)


def read_verified_program(program: str | Path | ModuleOp) -> tuple[ModuleOp, Path]:
    """
    Return a verified module, given as text, as a file or as a module, and the folder
    that its paths are relative to. A string with a line break is text; any other string
    is a path.
    """
    if isinstance(program, ModuleOp):
        with locate_errors(program, "the verifier"):
            verify_module(program)
        return program, Path()
    if isinstance(program, str) and "\n" in program:
        return parse_and_verify(new_context(), Source(program, "<text>")), Path()
    source = read_source(str(program))
    return parse_and_verify(new_context(), source), Path(program).parent
