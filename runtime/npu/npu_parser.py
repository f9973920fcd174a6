"""Simulator: parser of the text of an NPU program, directives and then code."""

import base64
import binascii
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from tlf.machine.machine_spec import (
    DATAFLOWS,
    DmaEngine,
    Engine,
    Level,
    Machine,
    MatrixEngine,
    VectorEngine,
)
from tlf.runtime.npu.code_parser import CodeParser
from tlf.runtime.npu.directive_settings import DirectiveSettings, parse_integer
from tlf.runtime.npu.dtypes import DTYPES, ITEMSIZE, Array
from tlf.runtime.npu.npu_errors import NPUParseError
from tlf.runtime.npu.npu_lexer import source_location_of_line, strip_comment
from tlf.runtime.npu.npu_program import Buffer, Cores, Halt, Instruction, Loop, Program

_VERSION = "1"


def parse(text: str, base_dir: str | Path | None = None) -> Program:
    """
    Parse the text of a program. `base_dir` is the folder of the files of its constants,
    by default the current directory. Raises `NPUParseError`.
    """
    lines = [
        (number, stripped)
        for number, line in enumerate(text.splitlines(), 1)
        if (stripped := strip_comment(line))
    ]
    if not lines or lines[0][1].split() != [".npu", _VERSION]:
        number, got = lines[0] if lines else (1, "")
        raise NPUParseError(number, f"expected `.npu {_VERSION}`, got `{got}`")
    parser = _DirectiveParser(Path(base_dir or "."))
    for index, (number, line) in enumerate(lines[1:], 1):
        if line == ".code":
            program = _parse_program(parser, lines[index + 1 :], number)
            return replace(program, origins=_parse_origins(text))
        parser.parse_directive(number, line)
    raise NPUParseError(lines[-1][0], "expected `.code`, got the end of the text")


def _parse_origins(text: str) -> dict[int, str]:
    """Return the source locations in comments at the ends of lines, by line number."""
    lines = enumerate(text.splitlines(), 1)
    return {
        number: each
        for number, line in lines
        if (each := source_location_of_line(line))
    }


def _parse_program(
    parser: "_DirectiveParser", lines: list[tuple[int, str]], last_line: int
) -> Program:
    machine = parser.machine
    _check_cores_share_no_channel(machine, last_line)
    code = CodeParser(machine, parser.semaphores)
    stack: list[tuple[Loop | Cores | None, list[Instruction]]] = [(None, [])]
    halted = False
    for number, line in lines:
        last_line = number
        if halted:
            raise NPUParseError(number, f"expected nothing after `halt`, got `{line}`")
        if line == "}":
            loop, body = stack.pop()
            if loop is None:
                raise NPUParseError(number, "expected an instruction, got `}`")
            if isinstance(loop, Cores):
                code.discard_core_registers()
            stack[-1][1].append(replace(loop, body=tuple(body)))
            continue
        instruction = code.parse_instruction(number, line)
        if isinstance(instruction, Loop | Cores):
            stack.append((instruction, []))
            continue
        stack[-1][1].append(instruction)
        if isinstance(instruction, Halt):
            _check_halt_is_outside_blocks(number, stack)
            halted = True
    if not halted:
        raise NPUParseError(last_line, "expected `halt`, got the end of the text")
    granule = _find_smallest_itemsize(parser, code)
    return Program(
        machine,
        parser.inputs,
        parser.outputs,
        parser.constants,
        parser.semaphores,
        tuple(stack[0][1]),
        granule,
    )


def _find_smallest_itemsize(parser: "_DirectiveParser", code: CodeParser) -> int:
    """Return the size of the smallest element of a program, in bytes."""
    buffers = [parser.inputs, parser.outputs, parser.constants]
    used = code.used_dtypes.union(
        *({buffer.dtype for buffer in group.values()} for group in buffers)
    )
    return min((ITEMSIZE[dtype] for dtype in used), default=1)


def _check_halt_is_outside_blocks(
    number: int, stack: Sequence[tuple[Loop | Cores | None, list[Instruction]]]
) -> None:
    """Raise `NPUParseError` if `halt` is in a loop or in `cores`."""
    if len(stack) > 1:
        block = "a loop" if isinstance(stack[-1][0], Loop) else "`cores`"
        raise NPUParseError(number, f"expected `}}`, got `halt` in {block}")


def _check_cores_share_no_channel(machine: Machine, last_line: int) -> None:
    """Raise `NPUParseError` if cores share the channel of a level of a core."""
    for level in machine.levels.values():
        if level.shared and level.of_core and machine.cores > 1:
            reason = f"expected no channel of {level.name} that cores share"
            raise NPUParseError(last_line, reason)


@dataclass
class _DirectiveParser:
    base_dir: Path
    machine: Machine = field(default_factory=Machine)
    inputs: dict[str, Buffer] = field(default_factory=dict[str, Buffer])
    outputs: dict[str, Buffer] = field(default_factory=dict[str, Buffer])
    constants: dict[str, Buffer] = field(default_factory=dict[str, Buffer])
    semaphores: int = 0

    def parse_directive(self, line: int, text: str) -> None:
        """Parse one directive line, such as `.level`, and record it in the parser."""
        try:
            words = shlex.split(text) if '"' in text else text.split()
        except ValueError:
            raise NPUParseError(line, "expected a closing quote") from None
        match words[0]:
            case ".machine":
                self._parse_machine(DirectiveSettings(line, words[1:]))
            case ".level" if len(words) > 1:
                self._parse_level(words[1], DirectiveSettings(line, words[2:]))
            case ".engine" if len(words) > 1:
                self._parse_engine(words[1], DirectiveSettings(line, words[2:]))
            case ".input":
                self._declare_buffer(line, words[1:], self.inputs)
            case ".output":
                self._declare_buffer(line, words[1:], self.outputs)
            case ".const":
                self._parse_constant(line, words[1:])
            case ".semaphores" if len(words) == 2:
                self.semaphores = parse_integer(
                    line, words[1], "a number of semaphores"
                )
            case _:
                raise NPUParseError(line, f"expected a directive, got `{text}`")

    def _parse_machine(self, settings: DirectiveSettings) -> None:
        """Set the machine's name, clock, issue cycles and number of cores."""
        self.machine = replace(
            self.machine,
            name=settings.take_word("name", "npu"),
            clock_ghz=settings.take_positive_number("clock_ghz", 1.0),
            issue_cycles=settings.take_count("issue_cycles", 1),
            cores=settings.take_count("cores", 1, minimum=1),
        )
        settings.expect_no_more_keys()

    def _parse_level(self, name: str, settings: DirectiveSettings) -> None:
        """
        Add memory level `name` to the machine. Raises `NPUParseError` if it exists.
        """
        if name in self.machine.levels:
            raise NPUParseError(settings.line, f"expected a new level, got {name}")
        self.machine.levels[name] = Level(
            name,
            capacity=settings.take_count("capacity"),
            bandwidth=settings.take_positive_number("bandwidth"),
            latency=settings.take_count("latency", 0),
            burst=settings.take_count("burst", 1, minimum=1),
            alignment=settings.take_count("alignment", 1, minimum=1),
            shared=settings.take_flag("shared", False),
            of_core=settings.take_choice("scope", ("chip", "core")) == "core",
        )
        settings.expect_no_more_keys()

    def _parse_engine(self, name: str, settings: DirectiveSettings) -> None:
        """Add engine `name`: `matrix`, `vector`, or a DMA engine of any other name."""
        if name in self.machine.engines:
            raise NPUParseError(settings.line, f"expected a new engine, got {name}")
        engine: Engine
        if name == "matrix":
            engine = MatrixEngine(
                name,
                self._take_level_name(settings, "level", "L1"),
                rows=settings.take_count("rows", minimum=1),
                cols=settings.take_count("cols", minimum=1),
                cycles=settings.take_numbers_with_prefix("cycles"),
                startup=settings.take_count("startup", 0),
                dataflow=settings.take_choice("dataflow", DATAFLOWS),
                pipelined=settings.take_flag("pipelined", True),
            )
        elif name == "vector":
            engine = VectorEngine(
                name,
                self._take_level_name(settings, "level", "L1"),
                lanes=settings.take_count("lanes", minimum=1),
                transcendental=settings.take_positive_number("transcendental", 1.0),
                startup=settings.take_count("startup", 0),
            )
        else:
            engine = DmaEngine(
                name,
                self._take_level_name(settings, "from", None),
                self._take_level_name(settings, "to", None),
                settings.take_optional_count("indexed"),
            )
            if engine.source == engine.destination:
                raise NPUParseError(
                    settings.line,
                    f"expected two levels, got {engine.source} twice",
                )
        settings.expect_no_more_keys()
        self.machine.engines[name] = engine

    def _take_level_name(
        self, settings: DirectiveSettings, key: str, default: str | None
    ) -> str:
        name = settings.take_word(key, default)
        self._find_declared_level(settings.line, name)
        return name

    def _find_declared_level(self, line: int, name: str) -> Level:
        """Return level `name` of the machine. Raises `NPUParseError` if it has none."""
        if name not in self.machine.levels:
            levels = ", ".join(self.machine.levels) or "none so far"
            raise NPUParseError(line, f"expected a level ({levels}), got `{name}`")
        return self.machine.levels[name]

    def _declare_buffer(
        self, line: int, words: list[str], declared_buffers: dict[str, Buffer]
    ) -> None:
        """Check the buffer in `words`, and add it to `declared_buffers`."""
        if len(words) < 5:
            raise NPUParseError(
                line,
                "expected a name, a level, an address, an element type and a shape, "
                f"got {len(words)} words",
            )
        name, level, address, dtype, shape = words[:5]
        settings = DirectiveSettings(line, words[5:])
        memory = self._find_declared_level(line, level)
        if dtype not in DTYPES:
            raise NPUParseError(
                line, f"expected an element type ({', '.join(DTYPES)}), got `{dtype}`"
            )
        sizes = tuple(
            parse_integer(line, size, "a shape such as 4x8 or scalar")
            for size in ([] if shape == "scalar" else shape.split("x"))
        )
        start = parse_integer(line, address, "an address")
        order = settings.take_axes("order", len(sizes))
        settings.expect_no_more_keys()
        buffer = Buffer(name, level, start, dtype, sizes, order=order)
        if buffer.address % max(memory.alignment, ITEMSIZE[dtype]):
            raise NPUParseError(
                line,
                f"expected an address at a multiple of {memory.alignment}, "
                f"got {address}",
            )
        if buffer.address + buffer.nbytes > memory.capacity:
            raise NPUParseError(
                line,
                f"expected an end within the {memory.capacity} bytes of {level}, "
                f"got {buffer.address + buffer.nbytes}",
            )
        self._check_buffer_name_is_new(line, buffer, declared_buffers)
        declared_buffers[name] = buffer

    def _check_buffer_name_is_new(
        self, line: int, buffer: Buffer, declared_buffers: dict[str, Buffer]
    ) -> None:
        """
        Raise `NPUParseError` if another buffer has the name or overlaps in memory.
        """
        name, end = buffer.name, buffer.address + buffer.nbytes
        # Neither two outputs nor two arrays that are initialized at the start may
        # overlap.
        groups = (
            [self.outputs]
            if declared_buffers is self.outputs
            else [self.inputs, self.constants]
        )
        for other in (other for group in groups for other in group.values()):
            if name == other.name:
                raise NPUParseError(line, f"expected a new name, got `{name}`")
            if (
                other.level == buffer.level
                and other.address < end
                and buffer.address < other.address + other.nbytes
            ):
                raise NPUParseError(line, f"`{name}` overlaps `{other.name}`")

    def _parse_constant(self, line: int, words: list[str]) -> None:
        """
        Declare a constant, with base64 contents or `file=` and `key=` of an array.
        """
        self._declare_buffer(line, words[:5], self.constants)
        buffer = self.constants[words[0]]
        if len(words) == 6 and "=" not in words[5].rstrip("="):
            data = _decode_constant_text(line, words[5], buffer)
        else:
            settings = DirectiveSettings(line, words[5:])
            file, key = settings.take_word("file"), settings.take_word("key")
            settings.expect_no_more_keys()
            data = _load_constant_file(line, self.base_dir / file, key, buffer)
        self.constants[buffer.name] = replace(buffer, data=data)


def _decode_constant_text(line: int, text: str, buffer: Buffer) -> Array:
    """Decode base64 `text` to the array of `buffer`. Raises `NPUParseError`."""
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error:
        raise NPUParseError(line, "expected the contents in base64") from None
    if len(data) != buffer.nbytes:
        raise NPUParseError(
            line, f"expected {buffer.nbytes} bytes of contents, got {len(data)}"
        )
    return np.frombuffer(data, DTYPES[buffer.dtype]).reshape(buffer.shape)


def _load_constant_file(line: int, path: Path, key: str, buffer: Buffer) -> Array:
    """
    Return array `key` of a numpy archive. Raises `NPUParseError` if it does not fit.
    """
    try:
        with np.load(path, allow_pickle=False) as arrays:
            array = arrays[key]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise NPUParseError(line, f"expected `{key}` in a file {path.name}") from None
    if array.dtype.kind == "V" and array.dtype.itemsize == ITEMSIZE[buffer.dtype]:
        array = array.view(DTYPES[buffer.dtype])
    if not buffer.is_array_of_declared_type(array):
        raise NPUParseError(
            line,
            f"expected {buffer.format_type()} under `{key}`, got {array.dtype} "
            f"{'x'.join(map(str, array.shape)) or 'scalar'}",
        )
    return array
