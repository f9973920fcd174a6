"""
API: callable programs, which run on numpy arrays and torch tensors. Needs neither IR
nor the compiler.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from threading import RLock
from typing import TYPE_CHECKING, Any

from tlf.compiler.api.argument_conversion import (
    ArgumentType,
    check_argument_types,
    make_selector,
)
from tlf.compiler.api.weight_binding import (
    ReleasedWeightsError,
    WeightBinding,
    WeightConverter,
)
from tlf.compiler.backends.device_memory import DeviceMemory
from tlf.compiler.backends.executables import (
    Buffer,
    Executable,
    Outcome,
    Signature,
    is_torch_tensor,
)
from tlf.compiler.backends.prepared_program import PreparedProgram

if TYPE_CHECKING:
    from tlf.compiler.api.runtime_checks import RuntimeChecks


class CallableProgram:
    """
    A compiled function. It is called with its arguments in order or by name: numpy
    arrays or torch tensors of the shapes and dtypes that the program declares. It
    returns a single result, or a tuple of several; these are torch tensors if all
    arguments are.
    """

    def __init__(
        self,
        signature: Signature,
        argument_types: Sequence[ArgumentType],
        executable: Executable,
        checks: RuntimeChecks | None = None,
    ) -> None:
        self.signature = signature
        self.argument_types = tuple(argument_types)
        self.executable = executable
        self.checks = checks
        types = dict(zip(signature.inputs, self.argument_types, strict=True))
        self._weight_types = {k: each for k, each in types.items() if each.is_weight}
        self._input_types = {k: e for k, e in types.items() if not e.is_weight}
        names = signature.inputs
        self._order_inputs = make_selector(names)
        self._take_weights = make_selector([*map(names.index, self._weight_types)])
        self._take_inputs = make_selector([*map(names.index, self._input_types)])
        self._converter = WeightConverter()
        self._binding: WeightBinding | None = None
        """Binding of the last call."""
        self._releases_weights = False
        self._has_released = False
        """True if weights were released, so that nothing can be bound again."""
        self._lock = RLock()
        self._figures: dict[str, float] = {}
        self._figures_of_run: Mapping[str, float] = {}
        """Figures of the last run."""

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
        if as_tensors is None:
            as_tensors = bool(inputs) and all(map(is_torch_tensor, inputs.values()))
        return self.run_ordered(self._order_inputs(inputs), as_tensors)

    def run_ordered(
        self, values: Sequence[Buffer], as_tensors: bool
    ) -> tuple[Buffer, ...]:
        """Run the program on arguments in order, and return all results."""
        outcome = self._run_bound(self._take_weights(values), self._take_inputs(values))
        self._figures_of_run = outcome.figures
        results_by_name = outcome.results
        if self.checks is not None:
            results_by_name = self.checks.verify_and_strip(results_by_name)
        results = results_by_name.values()
        return tuple(map(_to_torch_tensor, results) if as_tensors else results)

    def _run_bound(
        self, weights: Sequence[Buffer], inputs: Sequence[Buffer]
    ) -> Outcome:
        """Run the program with bound weights, which are bound again if they changed."""
        binding = self._binding
        if binding is not None and binding.accepts_weights(weights):
            if (converted := binding.convert_inputs(inputs)) is not None:
                return binding.run(weights, converted)
        with self._lock:
            binding = self._bind_weights(weights, inputs)
        converted = binding.convert_inputs(inputs)
        assert converted is not None
        return binding.run(weights, converted)

    def _bind_weights(
        self, weights: Sequence[Buffer], inputs: Sequence[Buffer]
    ) -> WeightBinding:
        """
        Return the program with weights bound for a call. It is kept for further calls,
        but in a capture of the caller, as prepared values are not computed there.
        Raises `ReleasedWeightsError` if they would be needed again.
        """
        if self._has_released:
            return self._expect_bound(weights, inputs)
        by_name = dict(zip(self._weight_types, weights, strict=True))
        check_argument_types(self._weight_types, by_name)
        inputs_by_name = dict(zip(self._input_types, inputs, strict=True))
        check_argument_types(self._input_types, inputs_by_name)
        device = self._find_device({**by_name, **inputs_by_name})
        converted = self._converter.convert_weights(by_name, self.executable, device)
        binding = WeightBinding(
            self.executable, device, by_name, converted, self._input_types
        )
        if self.executable.is_capturing(device):
            return binding
        if self._releases_weights:
            self._release_weights(binding, by_name)
        self._binding = binding
        return binding

    def _expect_bound(
        self, weights: Sequence[Buffer], inputs: Sequence[Buffer]
    ) -> WeightBinding:
        """Return the binding, which another thread may just have made."""
        if (known := self._binding) is not None and known.accepts_weights(weights):
            if known.convert_inputs(inputs) is not None:
                return known
        raise ReleasedWeightsError

    def _release_weights(
        self, binding: WeightBinding, weights: Mapping[str, Buffer]
    ) -> None:
        """Release the weights that are not used any more, also by another name."""
        replaced = set(self.executable.replaced_arguments)
        used = {id(each) for name, each in weights.items() if name not in replaced}
        released = {
            name
            for name in replaced
            if is_torch_tensor(weights[name]) and id(weights[name]) not in used
        }
        binding.release_weights(weights, released)
        self._converter.forget_copies(released)
        self._has_released = bool(released)

    def _find_device(self, values: Mapping[str, Buffer]) -> Any:
        """Return the device of a run: that of the last one if all tensors are there."""
        last = None if self._binding is None else self._binding.device
        if last is not None and all(
            is_torch_tensor(each) and each.device == last for each in values.values()
        ):
            return last
        return self.executable.device_for(values)

    def release_weights(self) -> None:
        """
        Empty the weights that only the weight preparation accesses, at the next call,
        after it. They are lost to the caller, too: a module of PyTorch with them cannot
        run any more. Weights that are left may not be replaced then, nor those written
        that the preparation accesses; such a call raises `ReleasedWeightsError`.
        """
        if not self._has_released:
            self._releases_weights = True
            self._binding = None

    def refresh(self) -> None:
        """
        Recompute the results of the weight preparation at the next call. Changed
        weights are detected without this call, except for writes that PyTorch does not
        count; `tlf.refresh` reports those to all programs. Raises
        `ReleasedWeightsError` if weights were released.
        """
        if self._has_released:
            raise ReleasedWeightsError
        self._binding = None
        self._converter.forget_copies()
        if isinstance(self.executable, PreparedProgram):
            self.executable.invalidate_preparation()

    def use_cuda_graphs(self, is_allowed: bool) -> None:
        """
        Allow or forbid that launches on a GPU are replayed from a CUDA graph if they
        repeat with the same addresses, which is allowed by default.
        """
        self.executable.use_cuda_graphs(is_allowed)

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

    @property
    def memory(self) -> DeviceMemory | None:
        """
        Memory of a GPU that the program uses, as its plan states; `None` for a target
        without a GPU.
        """
        if (memory := self.executable.memory) is None:
            return None
        replaced = set(self.executable.replaced_arguments)
        weights = self._weight_types
        return replace(
            memory,
            inputs=sum(each.byte_count for each in self._input_types.values()),
            parameters=sum(each.byte_count for each in weights.values()),
            replaced_parameters=sum(
                each.byte_count for name, each in weights.items() if name in replaced
            ),
        )

    @property
    def stats(self) -> Mapping[str, float]:
        """
        Statistics of the cost: `compile_seconds`, unless the program was loaded; of the
        last run on an NPU cycles, seconds and bytes by level; on a GPU the number of
        kernels.
        """
        return {**self._figures, **self._figures_of_run}

    @property
    def stages(self) -> tuple[str, ...]:
        """Valid arguments of `ir`: the generated texts."""
        return tuple(self.executable.artifacts)

    def ir(self, stage: str) -> str:
        """Return a generated text. Raises `KeyError` for an unknown stage."""
        if stage not in self.executable.artifacts:
            raise KeyError(f"expected a stage among {', '.join(self.stages)}")
        return self.executable.artifacts[stage]


def _to_torch_tensor(value: Buffer) -> Buffer:
    """Return a torch tensor unchanged, and a numpy array converted to a tensor."""
    if is_torch_tensor(value):
        return value
    from tlf.support.tensor_arrays import to_tensor

    return to_tensor(value)
