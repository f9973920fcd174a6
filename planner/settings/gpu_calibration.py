"""Cost model constants, without IR: calibrated costs of Triton kernels."""

from dataclasses import dataclass


@dataclass(frozen=True)
class MatrixInstructions:
    """
    Shapes of the matrix instructions of NVIDIA GPUs, and how Triton feeds them.
    """

    narrow_depth_bytes: int = 32
    """
    Bytes of a row of the left factor, and of a column of the right factor, that a
    narrow matrix instruction reads.
    """
    bank_conflicts: int = 8
    """
    Rows of eight elements that one step reads from shared memory: the cost of copying a
    transposed factor, in bytes per byte.
    """
    transpose_conflicts: int = 16
    """
    Steps in which a warp copies a row of 4-byte elements to a column of shared memory:
    measured with products in tf32 of 2048 rows, columns and terms.
    """
    split_steps: int = 7
    """
    Lane steps per element of a factor and part after the first, with the waits between
    splitting and multiplying: measured with products of 4096 rows, columns and terms.
    """
    split_transpose_steps: int = 27
    """
    Additional lane steps per element of a left factor that is split and whose rows do
    not run along the reduction: measured with products of a depth of 8192.
    """
    combine_steps: int = 3
    """
    Lane steps per result of a product of split factors: two replace NaN, and one adds
    to the accumulator.
    """
    narrow_result: int = 16 * 8
    """Elements of the result of a narrow matrix instruction."""
    row_bytes: int = 16
    """Contiguous bytes of a row per thread."""
    row_threads: int = 4
    """Number of threads over which a result row of a matrix instruction is spread."""
    warp_group: int = 4
    """Number of warps that execute one matrix instruction of full rate."""


MATRIX_INSTRUCTIONS = MatrixInstructions()


@dataclass(frozen=True)
class LaneProducts:
    """
    Parameters of matrix products in types without matrix instructions, as Triton 3.6
    emits them.
    """

    block_extents: tuple[int, ...] = (4, 2)
    """
    Rows, and columns, of a block of the result in one thread: the first one of whose
    square a thread has as many elements, or else 1.
    """
    vector_bytes: int = 16
    """Maximum bytes per read of a thread from shared memory."""
    banks: int = 32
    """Banks of shared memory, each of which reads four bytes per cycle."""
    reached: float = 0.8
    """
    Fraction of the peak rate of lanes that products reach: measured with products of
    4096x4096x4096 elements in f32 and 40 tiles, as are the following fields.
    """
    read_wait: float = 0.1
    """Fraction of the time of reads from shared memory for which lanes wait."""
    depth_last_slowdown: float = 1.1
    """Slowdown of products whose left factor is contiguous along the depth."""


LANE_PRODUCTS = LaneProducts()


@dataclass(frozen=True)
class TritonCalibration:
    """
    Costs and resources of the code that Triton 3.6 emits for Hopper.

    Fields name the programs that they were fitted to; the others follow from the code.
    """

    exchange_cycles: int = 4
    """
    Cycles in which a warp exchanges one of its results with the other warps: measured
    with products of a row vector and a row-major matrix of 32 to 256 rows, computed by
    one to eight warps.
    """
    vector_bytes: int = 16
    """Maximum bytes per load or store of a thread."""
    address_steps: int = 2
    """Lane steps for the address of one access."""
    mask_steps: int = 2
    """Lane steps for the mask of a masked access."""
    window_address_bytes: int = 24
    """
    Bytes of registers per load of a window in a loop, for its address and position:
    fitted to the registers of 3x3 convolutions of 64 and 256 channels.
    """
    line_bytes: int = 128
    """Bytes of a line of the cache."""
    partial_line_cost: float = 1.4
    """
    Cost of reading windows by parts of lines, in whole lines: measured with 3x3
    convolutions in steps of 32 and 64 channels of 16 bits.
    """
    first_cache_bytes: int = 32 * 1024
    """
    Bytes that the first cache of a processor retains for a program: an eighth of it.
    """
    unrolled_window_steps: int = 3
    """
    Lane steps for the address and the mask of a load of a window in an unrolled loop:
    counted in the machine code of poolings with 8 to 27 elements per window.
    """
    window_mask_steps: int = 3
    """Lane steps for the mask of a load of a window, per axis that is padded."""
    max_unrolled_iterations: int = 32
    """
    Maximum number of iterations of a loop that is unrolled, which accumulates element
    by element.
    """
    partial_sector_cost: int = 2
    """Cost of a store to a part of a sector, in whole sectors."""
    fused_reduction_slowdown: float = 1.15
    """
    Slowdown of fused reductions in one loop that the model does not explain: measured
    with the programs of `bench/cascade_cases.py`.
    """
    load_wait: float = 0.4
    """Fraction of a product's time for which the load behind it waits."""
    narrow_product_slowdown: float = 2.5
    """
    Slowdown of narrow matrix instructions in a loop with other reductions, if they read
    loaded values: measured with `log_sum_exp`, `unit_product` and others of
    `bench/cascade_cases.py`.
    """
    narrow_store_cycles: int = 14
    """
    Cycles in which a warp stores elements of less than `full_store_bytes` separately:
    measured with products of 8192 rows and 50,257 columns in bf16, whose rows are not
    aligned.
    """
    scan_steps: int = 9
    """
    Lane steps per element of a scan and of the total of its tile: counted in the
    machine code of sums of rows in tiles of 2048 and 4096 elements by four warps.
    """
    scan_wait: int = 2200
    """
    Cycles for which an iteration of a loop over tiles of a scan waits for the totals
    that threads combine: fitted to sums of columns, 32x4096x512 in tiles of 32x64.
    """
    full_store_bytes: int = 4
    """Minimum bytes per store of a thread at full rate."""
    cached_fraction: float = 0.5
    """Fraction of the cache assumed to retain tensors that are read repeatedly."""
    swizzled_programs: int = 16
    """
    Programs along the second-to-last axis that read the same columns of a product.
    """
    exchanged_share: float = 0.5
    """
    Fraction of a stored tile of which threads exchange the elements through shared
    memory at once: by the shared memory of compiled kernels.
    """
    min_persistent_share: float = 0.9
    """
    Minimum fraction of the iterations of persistent programs that have work: programs
    of a grid spread over processors as these become free. Four products with 0.97 are
    2 to 7 % faster as persistent programs on an H200.
    """
    base_registers: int = 32
    """Registers per thread for addresses, masks and loops."""
    wide_accumulator_registers: int = 48
    """Maximum registers per thread for partial results of the reductions of a loop."""
    max_spilled_registers: int = 4
    """
    Maximum registers per thread that a loop of fused reductions may spill to memory: as
    many as attention of 128 channels spills with 128 queries and 64 keys on four warps.
    """
    register_granularity: int = 8
    """Allocation granularity of a thread's registers."""
    shared_memory_fraction: float = 7 / 8
    """Fraction of the shared memory limit that a program may use."""
    min_async_bytes: int = 4
    """Minimum bytes per thread of an asynchronous copy to shared memory."""


TRITON_CALIBRATION = TritonCalibration()


@dataclass(frozen=True)
class CombinedWriteSteps:
    """Lane steps of indexed writes by comparisons, and kernels of those by atomics."""

    comparison_steps: int = 3
    """
    Lane steps per index and position: a comparison, a selection, and a combination.
    """
    kernels: int = 2
    """
    Kernels of a combination in memory that are not fused with others: one initialises
    the table, and one combines.
    """


COMBINED_WRITES = CombinedWriteSteps()


@dataclass(frozen=True)
class SortSteps:
    """Lane steps of sorts: of a bitonic network as Triton 3.6 emits it, and others."""

    exchange_steps: int = 22
    """
    Lane steps per element and stage of the network, in words of 64 bits: measured with
    4096 rows of 1000 elements, 237 us.
    """
    ranking_steps: int = 6
    """Lane steps per pair of elements to count the elements before each."""
    selection_steps: int = 6
    """Lane steps per element and rank to select the elements and indices of ranks."""
    least_chunk: int = 512
    """Least extent of the chunks in which a long axis is sorted, as that of a tile."""


SORTS = SortSteps()
