"""
Cost model constants, without IR: calibrated costs of an NPU program's control code.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class ControlCode:
    """
    Costs of the code that the NPU backend emits around engine instructions.

    Counted in the emitted programs.
    """

    issue_instructions: int = 4
    """
    Control processor instructions per engine instruction: addresses, a signal, a wait.
    """
    gather_steps: int = 3
    """
    Steps per pair of position and index: a comparison, a select and a reduction step.
    """
    early_index_slots: int = 3
    """Slots per iteration that compute the index of an early iteration."""
    index_slots_per_counter: int = 2
    """Slots per iteration and counter of several loops whose iterations overlap."""
    core_index_slots: int = 2
    """Slots per iteration that compute the index of an iteration of a core."""
    core_bound_slots: int = 5
    """Slots before a loop that compute the number of iterations of a core."""
    load_chunk_wait_slots: int = 6
    """Slots that decide whether a loop waits for another chunk of a load."""
    chunk_wait_slots_per_loop: int = 3
    """Further slots that decide this for each surrounding loop."""
    store_chunk_wait_slots: int = 3
    """Slots that decide whether a store waits for another chunk."""
    copy_divisor: int = 8
    """Fraction of an inner level that a copy through it may use: 1 / `copy_divisor`."""
    element_steps: int = 3
    """Vector steps to hand an element to the matrix engine: store, wait, load."""


CONTROL_CODE = ControlCode()
