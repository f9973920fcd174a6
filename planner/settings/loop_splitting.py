"""Constants of the planner, without IR: loops over the iterations that masks show."""

from dataclasses import dataclass


@dataclass(frozen=True)
class LoopSplitting:
    """Limits of the division of a reduction loop into parts with and without masks."""

    min_unmasked_iterations: float = 4.0
    """
    Minimum number of iterations without masks, in the mean over programs. An estimate,
    not measured: the additional loop fills its pipeline of loads, which takes about as
    long as the masks of this number of iterations.
    """
    max_loops: int = 2
    """
    Maximum number of loops in sequence. Of attention with 128 channels in a window, in
    three loops, `ptxas` of CUDA 12 serializes the matrix instructions (message C7515).
    """
    min_unpeeled_iterations: int = 16
    """
    Minimum number of iterations of a loop around a product whose partial last iteration
    is peeled: a second product takes time to compile. The masks of the loop are an
    eighth of the instructions of products of lanes in 64x128 tiles.
    """
    max_tiles: int = 64
    """Maximum number of tiles along an axis for which iterations are counted."""


LOOP_SPLITTING = LoopSplitting()
