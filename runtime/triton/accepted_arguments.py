"""
Launch of Triton kernels: arguments as a plan on a stream accepts them, of which those
that are fixed were checked, and have known addresses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import torch

from tlf.runtime.triton.argument_guard import ArgumentGuard
from tlf.runtime.triton.device_tensors import record_use
from tlf.runtime.triton.fixed_arguments import CallArguments
from tlf.runtime.triton.launch_plan import Plan, find_described_buffers


class AcceptedArguments:
    """
    Arguments of a plan that launches access, on one stream. Fixed tensors that are used
    in place are not kept alive.
    """

    def __init__(
        self,
        plan: Plan,
        accessed: Sequence[str],
        stream: torch.cuda.Stream,
        arguments: CallArguments,
    ) -> None:
        """Check the fixed arguments of a call. Raises `GuardError`."""
        self.fixed = arguments.fixed
        self._names = accessed
        fixed = [plan.arguments[index] for index in self.fixed.indices]
        self._fixed = _positions_by_name(fixed, accessed)
        indices = set(self.fixed.indices)
        others = [name for at, name in enumerate(plan.arguments) if at not in indices]
        self._others = _positions_by_name(others, accessed)
        buffers = {each.name: each for each in plan.buffers}
        described = find_described_buffers(plan)
        self._guard = ArgumentGuard(
            [buffers[name] for name in self._others], stream.device, described
        )
        """Guard of the arguments that are not fixed."""
        guard = ArgumentGuard(
            [buffers[name] for name in self._fixed], stream.device, described
        )
        given = [arguments.fixed_values[at] for at in self._fixed.values()]
        tensors = guard.upload_arguments(given)
        record_use(tensors, stream)
        self.addresses = tuple([each.data_ptr() for each in tensors])
        """Addresses of the fixed arguments."""
        self._copies = {
            name: tensor
            for name, tensor, value in zip(self._fixed, tensors, given, strict=True)
            if tensor is not value
        }

    def upload_others(self, arguments: CallArguments) -> list[torch.Tensor]:
        """Return the arguments that are not fixed, on the device."""
        values = [arguments.others[at] for at in self._others.values()]
        return self._guard.upload_arguments(values)

    def select_fixed(self, arguments: CallArguments) -> Mapping[str, torch.Tensor]:
        """Return the fixed arguments on the device, by name."""
        given = {name: arguments.fixed_values[at] for name, at in self._fixed.items()}
        return cast(Mapping[str, torch.Tensor], {**given, **self._copies})

    def order_tensors(
        self, arguments: CallArguments, others: Sequence[torch.Tensor]
    ) -> list[torch.Tensor]:
        """Return all arguments on the device in order; `others` are not fixed."""
        by_name = {
            **self.select_fixed(arguments),
            **dict(zip(self._others, others, strict=True)),
        }
        return [by_name[name] for name in self._names]


def _positions_by_name(
    names: Sequence[str], accessed: Sequence[str]
) -> Mapping[str, int]:
    """Return the positions in `names` of those that are accessed, by name."""
    wanted = set(accessed)
    return {name: at for at, name in enumerate(names) if name in wanted}
