"""Simulator: parser of the instructions of an NPU program, line by line."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tlf.machine.machine_spec import DmaEngine, Machine, MatrixEngine, VectorEngine
from tlf.runtime.npu import dtypes, engine_arithmetic
from tlf.runtime.npu.gather_scatter import parse_move_indices
from tlf.runtime.npu.npu_errors import NPUParseError
from tlf.runtime.npu.npu_lexer import TokenCursor
from tlf.runtime.npu.npu_program import (
    Address,
    Cores,
    Dma,
    Halt,
    Immediate,
    Instruction,
    Loop,
    Matmul,
    Reduce,
    ScalarInstruction,
    Signal,
    Value,
    Vector,
    Wait,
)
from tlf.runtime.npu.operand_parser import (
    ImmediateText,
    OperandFields,
    OperandParser,
    format_integer_tuple,
)

SCALAR_OPERATIONS = {
    "add": 2,
    "sub": 2,
    "mul": 2,
    "div": 2,
    "rem": 2,
    "min": 2,
    "max": 2,
    "mov": 1,
}
"""Operations of the control processor, with their number of operands."""

_MAX_DIMS = 5
_MAX_GROUP = 3


@dataclass
class CodeParser:
    """Parser of instructions, one line at a time."""

    machine: Machine
    semaphores: int

    def __post_init__(self) -> None:
        self._operands = OperandParser(self.machine)
        self._outside: set[str] | None = None

    @property
    def used_dtypes(self) -> set[str]:
        """Element types used so far."""
        return self._operands.used_dtypes

    def parse_instruction(self, line: int, text: str) -> Instruction:
        """Parse one line. Loops and `cores` are returned without a body, after `{`."""
        cursor = TokenCursor(line, text)
        if cursor.peek_token_kind() == "register":
            result = self._parse_scalar(cursor, text)
        else:
            names = ("dma", "matmul", "vector", "reduce", "signal", "wait")
            name = cursor.take_word_choice(
                (*names, "loop", "cores", "halt"), "an instruction"
            )
            match name:
                case "dma":
                    result = self._parse_dma(cursor, text)
                case "matmul":
                    result = self._parse_matmul(cursor, text)
                case "vector":
                    result = self._parse_vector(cursor, text)
                case "reduce":
                    result = self._parse_reduce(cursor, text)
                case "loop":
                    result = self._parse_loop(cursor, text)
                case "cores":
                    result = self._parse_cores(cursor, text)
                case "halt":
                    result = Halt(line, text)
                case _:
                    result = self._parse_signal_or_wait(name, cursor, text)
        cursor.expect_end_of_line()
        return result

    def _parse_scalar(self, cursor: TokenCursor, text: str) -> ScalarInstruction:
        """Parse `register = operation operands`, and define the register."""
        target = cursor.take_token("register", "a register")
        cursor.expect_token("=")
        operation = cursor.take_word_choice(
            tuple(SCALAR_OPERATIONS), "a scalar operation"
        )
        count = SCALAR_OPERATIONS[operation]
        operands = tuple(self._operands.parse_scalar(cursor) for _ in range(count))
        self._operands.registers.add(target)
        return ScalarInstruction(cursor.line, text, target, operation, operands)

    def _parse_loop(self, cursor: TokenCursor, text: str) -> Loop:
        """Parse `register = lower to upper step n {`, and define the register."""
        register = cursor.take_token("register", "a register")
        cursor.expect_token("=")
        lower = self._operands.parse_scalar(cursor)
        cursor.expect_token("to")
        upper = self._operands.parse_scalar(cursor)
        step = self._operands.parse_value(cursor) if cursor.accept_token("step") else 1
        cursor.expect_token("{")
        self._operands.registers.add(register)
        return Loop(cursor.line, text, register, lower, upper, step, ())

    def _parse_cores(self, cursor: TokenCursor, text: str) -> Cores:
        """Parse `register {`, and save the registers defined outside of the block."""
        if self._outside is not None:
            raise NPUParseError(cursor.line, "expected no `cores` in another")
        self._outside = set(self._operands.registers)
        register = cursor.take_token("register", "a register")
        cursor.expect_token("{")
        self._operands.registers.add(register)
        return Cores(cursor.line, text, register, self.machine.cores, ())

    def discard_core_registers(self) -> None:
        """Discard the registers of the cores, at the end of `cores`."""
        assert self._outside is not None
        self._operands.registers, self._outside = self._outside, None

    def _take_engine_name(
        self, cursor: TokenCursor, names: Iterable[str], expected: str
    ) -> str:
        """
        Take the name of an engine; inside of `cores`, of an engine that every core has.
        """
        candidates = list(names)
        if self._outside is not None and self.machine.cores > 1:
            candidates = [
                name for name in candidates if self.machine.engine_copies(name) > 1
            ]
            expected += " of a core"
        return cursor.take_word_choice(candidates, expected)

    def _parse_signal_or_wait(
        self, name: str, cursor: TokenCursor, text: str
    ) -> Instruction:
        """
        Parse the engine and semaphore, such as `s0`, after `name`; return a `Signal` or
        `Wait`.
        """
        engine = self._take_engine_name(cursor, self.machine.engines, "an engine")
        expected = f"a semaphore, s0 to s{self.semaphores - 1}"
        if (
            not cursor.peek_token_text().startswith("s")
            or not cursor.peek_token_text()[1:].isdecimal()
        ):
            cursor.raise_unexpected_token(expected)
        semaphore = int(cursor.peek_token_text()[1:])
        if semaphore >= self.semaphores:
            cursor.raise_unexpected_token(expected)
        cursor.take_token("word", expected)
        if name == "signal":
            return Signal(cursor.line, text, engine, semaphore)
        return Wait(cursor.line, text, engine, semaphore)

    def _parse_dma(self, cursor: TokenCursor, text: str) -> Dma:
        """Parse a move between the two levels of a DMA engine, with its indices."""
        queues = [
            name
            for name, engine in self.machine.engines.items()
            if isinstance(engine, DmaEngine)
        ]
        name = self._take_engine_name(cursor, queues, "a dma engine")
        engine = self.machine.engines[name]
        fields = self._operands.parse_fields(
            cursor,
            ("dst", "src", "shape", "type"),
            ("inside", "fill", "index", "gather", "scatter", "accumulate"),
        )
        dtype = fields.dtype
        shape = fields.shape
        destination = fields.address_under_key("dst", len(shape), dtype)
        source = fields.address_under_key("src", len(shape), dtype)
        assert isinstance(engine, DmaEngine)
        _check_move_is_between_levels(cursor.line, engine, destination, source)
        if fields.inside is not None and len(fields.inside) != len(shape):
            raise NPUParseError(
                cursor.line,
                f"expected {len(shape)} ranges in `inside`, one per dimension, "
                f"got {len(fields.inside)}",
            )
        fill = fields.immediate_with_type(fields.fill, dtype).value
        bits = fill.view(dtypes.BITS[fill.itemsize])
        return Dma(
            cursor.line,
            text,
            name,
            destination,
            source,
            shape,
            fields.inside,
            bits,
            parse_move_indices(fields, engine),
        )

    def _parse_matmul(self, cursor: TokenCursor, text: str) -> Matmul:
        """Parse a product, and check the element types and the precision."""
        engine = self.machine.engines.get("matrix")
        if not isinstance(engine, MatrixEngine):
            raise NPUParseError(cursor.line, "the machine has no engine `matrix`")
        fields = self._operands.parse_fields(
            cursor,
            ("c", "a", "b", "batch", "m", "n", "k"),
            ("accumulate", "precision"),
        )
        batch, m, n, k = (
            _require_group_sizes(fields, name) for name in ("batch", "m", "n", "k")
        )
        a = fields.address_under_key("a", len(batch + m + k))
        b = fields.address_under_key("b", len(batch + k + n))
        c = fields.address_under_key("c", len(batch + m + n))
        allowed = engine_arithmetic.MATMUL.get(a.dtype, frozenset())
        if a.dtype != b.dtype or c.dtype not in allowed or a.dtype not in engine.cycles:
            raise NPUParseError(
                cursor.line,
                f"no product of {a.dtype} and {b.dtype} with result {c.dtype} on "
                f"{engine.name}",
            )
        if fields.precision == "tf32" and a.dtype != "f32":
            raise NPUParseError(
                cursor.line, f"expected f32 for precision tf32, got {a.dtype}"
            )
        return Matmul(
            cursor.line,
            text,
            c,
            a,
            b,
            batch,
            m,
            n,
            k,
            fields.accumulate,
            fields.precision,
        )

    def _parse_vector(self, cursor: TokenCursor, text: str) -> Vector:
        """
        Parse an elementwise operation on addresses and immediates, with type checks.
        """
        self._check_has_vector_engine(cursor)
        names = tuple(engine_arithmetic.OPERANDS)
        operation = cursor.take_word_choice(names, "a vector operation")
        keys = ("a", "b", "c")[: engine_arithmetic.OPERANDS[operation]]
        fields = self._operands.parse_fields(cursor, ("dst", *keys, "shape"), ())
        rank = self._require_supported_rank(cursor, fields)
        destination = fields.address_under_key("dst", rank)
        dtype = _computation_dtype(fields, keys[:2], destination.dtype)
        sources: list[Address | Immediate] = []
        for key in keys:
            operand = fields.operands[key]
            if isinstance(operand, ImmediateText):
                expected = "i1" if key == "c" else dtype
                sources.append(fields.immediate_with_type(operand, expected))
            else:
                sources.append(fields.address_under_key(key, rank))
        self._check_elementwise_types(
            cursor, operation, sources, dtype, destination.dtype
        )
        return Vector(
            cursor.line,
            text,
            operation,
            destination,
            tuple(sources),
            fields.shape,
            dtype,
        )

    def _check_elementwise_types(
        self,
        cursor: TokenCursor,
        operation: str,
        sources: Sequence[Address | Immediate],
        dtype: str,
        result_dtype: str,
    ) -> None:
        """
        Raise `NPUParseError` if an operand or result type does not fit `operation`.
        """
        expected = [dtype] * len(sources)
        if operation == "select":
            expected[2] = "i1"
        actual = [source.dtype for source in sources]
        if actual != expected:
            raise NPUParseError(
                cursor.line,
                f"expected operands of {', '.join(expected)}, got {', '.join(actual)}",
            )
        if dtype not in engine_arithmetic.types_accepted_by_operation(operation):
            raise NPUParseError(cursor.line, f"{operation} does not take {dtype}")
        if operation in ("copy", "fill"):
            return
        result = "i1" if operation in engine_arithmetic.COMPARE else dtype
        if result_dtype != result:
            raise NPUParseError(
                cursor.line, f"expected a result of {result}, got {result_dtype}"
            )

    def _parse_reduce(self, cursor: TokenCursor, text: str) -> Reduce:
        """
        Parse the rest of a `reduce` line into a `Reduce`, with its axes and types
        checked.
        """
        self._check_has_vector_engine(cursor)
        operation = cursor.take_word_choice(
            tuple(engine_arithmetic.REDUCE), "a reduction"
        )
        fields = self._operands.parse_fields(
            cursor, ("dst", "a", "shape", "axes"), ("accumulate",)
        )
        rank = self._require_supported_rank(cursor, fields)
        destination = fields.address_under_key("dst", rank)
        source = fields.address_under_key("a", rank)
        axes = _require_reduction_axes(fields, destination, rank)
        if source.dtype not in engine_arithmetic.REDUCE[operation][1]:
            raise NPUParseError(
                cursor.line, f"{operation} does not take {source.dtype}"
            )
        allowed = engine_arithmetic.valid_reduction_result_types(source.dtype)
        if destination.dtype not in allowed:
            raise NPUParseError(
                cursor.line,
                f"expected a result of {' or '.join(sorted(allowed))}, "
                f"got {destination.dtype}",
            )
        return Reduce(
            cursor.line,
            text,
            operation,
            destination,
            source,
            fields.shape,
            axes,
            fields.accumulate,
        )

    def _check_has_vector_engine(self, cursor: TokenCursor) -> None:
        if not isinstance(self.machine.engines.get("vector"), VectorEngine):
            raise NPUParseError(cursor.line, "the machine has no engine `vector`")

    def _require_supported_rank(
        self, cursor: TokenCursor, fields: OperandFields
    ) -> int:
        """
        Return the rank of `shape`. Raises `NPUParseError` if it exceeds `_MAX_DIMS`.
        """
        if len(fields.shape) > _MAX_DIMS:
            raise NPUParseError(
                cursor.line,
                f"expected up to {_MAX_DIMS} dimensions, got {len(fields.shape)}",
            )
        return len(fields.shape)


def _check_move_is_between_levels(
    line: int, engine: DmaEngine, destination: Address, source: Address
) -> None:
    """Raise `NPUParseError` if an engine does not connect the levels of a move."""
    for end, level in (
        (destination, engine.destination),
        (source, engine.source),
    ):
        if end.level != level:
            raise NPUParseError(
                line,
                f"{engine.name} moves from {engine.source} to {engine.destination}, "
                f"got {source.level} to {destination.level}",
            )


def _require_group_sizes(fields: OperandFields, name: str) -> tuple[Value, ...]:
    """Return the sizes of group `name`. Raises `NPUParseError` above `_MAX_GROUP`."""
    sizes = fields.groups[name]
    if len(sizes) > _MAX_GROUP:
        raise NPUParseError(
            fields.line,
            f"expected up to {_MAX_GROUP} dimensions in `{name}`, got {len(sizes)}",
        )
    return sizes


def _require_reduction_axes(
    fields: OperandFields, destination: Address, rank: int
) -> tuple[int, ...]:
    """
    Return the axes. Raises `NPUParseError` if they do not increase, are out of range,
    or have a stride other than 0 in `destination`.
    """
    axes = fields.axes
    if sorted(set(axes)) != list(axes) or any(not 0 <= axis < rank for axis in axes):
        raise NPUParseError(
            fields.line,
            f"expected increasing axes below {rank}, got {format_integer_tuple(axes)}",
        )
    if any(destination.strides[axis] for axis in axes):
        raise NPUParseError(
            fields.line,
            f"expected stride 0 of `dst` on axes {format_integer_tuple(axes)}, "
            f"got {format_integer_tuple(destination.strides)}",
        )
    return axes


def _computation_dtype(fields: OperandFields, keys: Sequence[str], default: str) -> str:
    """
    Return the element type of the first operand with a type; operands in memory take
    precedence over immediates.
    """
    operands = [fields.operands[key] for key in keys]
    operands.sort(key=lambda operand: isinstance(operand, ImmediateText))
    typed = [operand.dtype for operand in operands if operand.dtype is not None]
    return typed[0] if typed else default
