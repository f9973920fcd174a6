"""
Cost model of NPU residency: operands and results of a group that stay in the
surrounding level, planned or assumed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from xdsl.ir import SSAValue


@dataclass(frozen=True)
class Residency:
    """Values resident in the level around a group, as whole tensors."""

    resident_inputs: frozenset[SSAValue] = frozenset()
    """Inputs that are already resident."""
    retained_results: frozenset[SSAValue] = frozenset()
    """Results that stay resident."""
    unstored_results: frozenset[SSAValue] = frozenset()
    """Results that are not written to the outermost memory."""
    whole_loaded_inputs: frozenset[SSAValue] = frozenset()
    """Inputs that are loaded before all tiles."""
    early_inputs: frozenset[SSAValue] = frozenset()
    """
    Inputs that are available while an earlier group runs: *early* loads before loops
    may complete before this group starts.
    """

    @cached_property
    def whole_inputs_in_level(self) -> frozenset[SSAValue]:
        """Inputs whose tiles are views."""
        return self.resident_inputs | self.whole_loaded_inputs


NO_RESIDENCY = Residency()
"""No resident values."""
