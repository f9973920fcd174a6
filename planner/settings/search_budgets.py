"""
Search budgets of the planner, without IR: limits of effort, and thresholds of gain.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class TileSearchBudget:
    """
    Limits and thresholds of the search for tile sizes on an NPU.

    They bound compile time; none of them changes what a plan means.
    """

    max_burst_phases: int = 8
    """Maximum number of phases; of more, an evenly spaced subset is used."""
    max_burst_period: int = 256
    """
    Maximum period, in iterations, that accounts for bursts; a longer one ignores them.
    """
    steady_periods: int = 6
    """
    Number of periods after which a simulated loop is assumed to be in steady state.
    """
    burst_divisor: int = 4
    """
    Tiles of an inner level whose rows fill less than 1 / `burst_divisor` of a burst are
    excluded.
    """
    untiled_reduction: int = 8
    """
    Maximum extent of a reduction, such as the taps of a window, that is never tiled.
    """
    min_product_extent: int = 32
    """Minimum columns and reduction steps of a product's tile, where extents allow."""
    product_tile_bytes: int = 24
    """
    Bytes of the innermost memory per result of a square product of minimum extent: two
    slots of both factors and the sums.
    """
    max_simulated: int = 8
    """Number of best candidates of an inner level, by estimate, that are simulated."""
    serial_cycles: int = 2048
    """
    Maximum total work of all executions, in cycles times cores, for which only sizes
    near those of a single tile are evaluated.
    """
    divided_sizes: int = 3
    """
    Number of smaller sizes of each axis that are evaluated near a single tile: with
    two, three of 19 nests in three programs take up to 2 % longer, and a softmax 7 %.
    """
    max_grid_points: int = 1024
    """Maximum number of grid points of the search at an inner level."""
    max_coarse_points: int = 256
    """Maximum number of grid points of an approximate search."""
    exposed_divisor: int = 16
    """
    Fraction of overlappable work that is assumed to be exposed: 1 / `exposed_divisor`.
    """
    slowdown_divisor: int = 128
    """Accepted slowdown of tiles that take much less memory: 1 / `slowdown_divisor`."""
    equal_time_divisor: int = 512
    """Slowdown of larger tiles that counts as none: 1 / `equal_time_divisor`."""
    alternative_divisor: int = 8
    """
    Maximum slowdown of alternatives, which may be better in combination: 1 /
    `alternative_divisor`.
    """
    max_enumerated_boxes: int = 1 << 12
    """
    Maximum number of boxes of a product to enumerate; for more, the array is assumed to
    be full.
    """
    alternative_plans: int = 6
    """Number of alternative plans per group, which may be better in combination."""
    max_distinct_tiles: int = 64
    """
    Maximum number of tiles that bounds distinguish; more tiles count as this many.
    """
    rounding_tolerance: float = 1e-6
    """Tolerance for the rounding errors of sums, in cycles."""
    accumulator_shares: int = 8
    """
    Accumulators are tiled into blocks of 1 / `accumulator_shares` of the innermost
    memory, to which reduction tiles are added.
    """
    traffic_divisor: int = 3
    """Weight of a hidden channel cycle in the rank of a plan: 1 / `traffic_divisor`."""
    product_slots: tuple[int, ...] = (1, 2, 3)
    """Numbers of slots of a product's tiles that estimates of outer tiles consider."""
    inner_slots: tuple[int, ...] = (1, 2, 3, 4)
    """Numbers of slots of other inner tiles that estimates of outer tiles consider."""
    near_optimal_ratio: float = 1.02
    """Maximum ratio to the lower bound of a near-optimal plan."""
    staged_reduction_ratio: float = 1.25
    """
    Ratio to the lower bound above which a plan may gain from staged reductions, whose
    accumulators are moved in each stage.
    """
    reduction_patience: int = 2
    """
    Number of consecutive reduction tile sizes without improvement that ends the search.
    """
    exhaustive_extent: int = 8
    """Maximum extent of an axis whose sizes are all evaluated near the best plan."""
    serial_latencies: int = 1
    """Maximum work, in latencies of the outer memory, that is not worth overlapping."""
    refined_ratio: float = 1.1
    """Maximum ratio to the fastest plan of plans that are refined."""
    stages: int = 2
    """Iterations in flight if they overlap: one is moved while another is computed."""


TILE_SEARCH = TileSearchBudget()


@dataclass(frozen=True)
class KernelSearchBudget:
    """
    Limits and thresholds of the search for tile sizes of a Triton kernel.
    """

    max_unroll_factor: int = 8
    """Maximum number of tiles that a program computes at once."""
    max_jammed_iterations: int = 96
    """
    Maximum number of iterations of all tiles that a program computes at once, each of
    which is a copy of the loop's body.
    """
    min_unroll_gain: float = 0.02
    """Fraction of the cycles that unrolling a loop along windows has to save."""
    max_unrolled_steps: int = 2048
    """Maximum number of unrolled steps of a product per thread."""
    max_fused_unrolled_steps: int = 1024
    """
    Maximum number of unrolled steps of several products together: measured with the
    attention of a layer in f32, which runs out of registers with twice as many.
    """
    min_step_gain: float = 1e-3
    """Minimum relative gain of a step of the search."""
    min_tile_gain: float = 0.02
    """Minimum relative gain of tiles other than the start of the search."""
    min_stages_gain: float = 0.05
    """Minimum relative gain of a non-default number of iterations in flight."""
    min_warps_gain: float = 0.05
    """
    Minimum relative gain of a number of warps that does not follow from the tile sizes:
    on an H200, the times of norms, sums and elementwise functions with one to eight
    warps differ by less.
    """
    default_stages: int = 3
    """Default number of iterations in flight of loops around matrix products."""
    max_limit_ratio: float = 12.0
    """
    Ratio of the cycles of the start to the limit on those of the best tiles above which
    the search ends. In five networks, steps made up for a ratio of 9.4 at most.
    """


KERNEL_SEARCH = KernelSearchBudget()


@dataclass(frozen=True)
class PartitionBudget:
    """
    Limits and thresholds of fusion, partition, layouts and collapsing of axes.
    """

    cascade_slowdown: float = 0.05
    """
    Relative slowdown up to which one loop is preferred over separate ones, as it needs
    less memory.
    """
    max_contractions: int = 1
    """Default maximum number of contractions in a group."""
    max_operations: int = 64
    """Default maximum number of operations in a group."""
    max_closure_groups: int = 8
    """Maximum number of groups in a closure."""
    max_closure_depth: int = 2
    """
    Maximum number of steps from a group to one that computes its inputs: without a
    limit, the closures of layers with residual additions differ from layer to layer.
    """
    max_closure_operations: int = 48
    """Maximum number of operations of all groups in a closure."""
    small_tensor_ratio: int = 8
    """
    Ratio of the elements of the largest tensor to those of a small one, which may pass
    between groups.
    """
    max_kept_ratio: float = 1.0
    """
    Maximum ratio of the bytes that a fused group keeps in memory while other groups run
    to those that its parts would store meanwhile.
    """
    resident_operands: int = 8
    """
    An operand of slices is small if the level has room for this many tensors of its
    size.
    """
    max_merged_operations: int = 144
    """Default maximum number of operations in a merged group."""
    min_gain_divisor: int = 16
    """
    Inverse of the minimum fraction of the cycles to save for other plans to be
    searched.
    """
    layout_gain: float = 0.005
    """Minimum relative saving of the groups' time for another assignment."""
    layout_ratio: float = 1.1
    """
    Ratio to the best plan above which a plan is replaced because it relied on other
    layouts.
    """
    max_resident_sets: int = 64
    """Maximum number of resident sets after a group for `dp`, before it uses `beam`."""
    max_analyzed_operations: int = 200_000
    """
    Maximum number of operations analyzed over all tilings, before the maximum group
    size is reduced: FSRCNN, whose search takes the most, needs 157,000.
    """
    min_projected_work: float = 0.1875
    """
    Fraction of the work limit from which on the work of the whole search is projected
    from its progress.
    """
    max_projected_work: float = 1.0
    """
    Maximum ratio of the projected work to its limit, above which a search ends: for
    ResNet-50 and MobileNetV2, which exceed the limit, after about a third of it.
    """
    group_size_divisor: int = 4
    """Divisor of the maximum group size at each reduction."""
    collapsed_array_passes: int = 2
    """
    Assumed maximum width of a tile of several rows, in passes of the matrix engine.
    """
    collapse_divisor: int = 256
    """
    Divisor of the time: axes are collapsed if a program becomes slower by at most this
    fraction, because tile sizes are not yet selected jointly.
    """


PARTITION = PartitionBudget()


@dataclass(frozen=True)
class RefinementBudget:
    """
    Limits of refinement: the evaluation of candidates by lowering and simulation.
    """

    evaluated_operations: int = 400
    """
    Default maximum of the operations of all programs that are evaluated, except for
    prefetch candidates.
    """
    schedule_evaluations: int = 16
    """Default number of programs that are evaluated, for small programs."""
    schedule_instructions: int = 2_000_000
    """Maximum number of instructions that are run to evaluate programs."""
    small_program: int = 16
    """
    Maximum number of operations of a program whose schedules are evaluated by default.
    """
    alternative_plans: int = 16
    """Number of alternative plans of a group that are evaluated."""
    prefetch_plans: int = 4
    """Maximum number of plans with prefetch that are evaluated for each group."""
    patience_divisor: int = 4
    """
    Ratio of all evaluations to the consecutive slower candidates after which a search
    stops.
    """
    max_slowdown_for_traffic: float = 1.01
    """
    Maximum ratio of the evaluated cycles of a schedule that moves fewer bytes to those
    of the fastest schedule.
    """
    runner_up_ratio: float = 1.02
    """
    Maximum ratio to the best rank of another schedule whose plans are searched, too.
    """
    prune_ratio: float = 1.5
    """
    Ratio to the best cost by the cost model above which a schedule is not evaluated.
    """
    tile_evaluations: int = 24
    """Maximum number of programs evaluated for tile sizes."""
    insensitive_plans: int = 3
    """
    Number of alternative plans of a group after which the others are not evaluated if
    none changed the time of the program. In 18 programs of `bench/zoo.py`, the others
    then saved 0.15 % at most.
    """
    min_effect: float = 1e-3
    """Fraction of the cycles of a program that counts as a change of its time."""
    restricted_evaluations: int = 8
    """Maximum number of programs of these with plans for less of a resource."""
    restricted_ratio: float = 1.1
    """
    Ratio to the best cost by the cost model above which the best schedule for less of a
    resource is not evaluated: a little more than the median error of the model.
    """
    restricted_schedules: int = 2
    """
    Number of the fastest schedules that are evaluated with innermost plans for less of
    a resource.
    """
    restricted_plans: int = 3
    """Number of these plans of a group for half of the innermost memory."""
    tile_instructions: int = 800_000
    """Maximum number of instructions run to evaluate programs for tile sizes."""
    tiled_program: int = 64
    """Maximum number of operations of a program that is evaluated for tile sizes."""


REFINEMENT = RefinementBudget()


@dataclass(frozen=True)
class ReassociationBudget:
    """
    Limits and thresholds of algebraic rewrites that reorder or split reductions.
    """

    min_gain: float = 0.005
    """
    Minimum fraction of the cycles that a change has to save, because prepared tensors
    take memory.
    """
    max_split_loss: float = 0.02
    """
    Fraction of the cycles: if the first split count costs this much more, the search
    for one stops. In about 75 programs, no count saved cycles where the first one did
    not.
    """
    max_count_ratio: int = 16
    """
    Maximum ratio between the split count that occupies all processors and others that
    are evaluated.
    """
    min_split_gain: float = 0.1
    """Minimum fraction of the cycles that a change must save if it adds groups."""
    split_memory_ratio: float = 1.5
    """
    Maximum ratio of the memory with the partial results of a reduction to the peak of
    the program without: executed one by one, operations of MLPs and convolutional
    networks have peaks of 1.6 times that of groups.
    """
    small_split_bytes: int = 4 << 20
    """Bytes of partial results that are stored regardless of that peak."""
    small_split_share: float = 0.25
    """Share of the bytes of a program's inputs, to the same effect."""
    min_transposition_gain: float = 0.02
    """
    Minimum fraction of the cycles that a transposed copy of a factor must save, whose
    cost varies little.
    """
    leading_elements: int = 16
    """Number of leading elements whose mean is subtracted from varying terms."""
    max_terms: int = 16
    """Maximum number of terms that a value is split into."""
    min_part_extent: int = 64
    """Minimum extent of a part of a split reduction."""
    tile_rows: int = 64
    """Assumed number of rows of a large tile in the innermost level."""
    tile_columns: int = 128
    """Assumed number of columns of a large tile of a contraction."""
    tiles_per_processor: int = 2
    """Number of tiles per processor at which all processors are busy."""


REASSOCIATION = ReassociationBudget()
