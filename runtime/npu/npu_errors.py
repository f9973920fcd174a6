"""Simulator: errors of an NPU program in its text, its inputs and its execution."""


class NPUError(Exception):
    """Base of all errors of the simulator."""


class NPUParseError(NPUError):
    """Error of text that is not a valid NPU program, at a line."""

    line: int
    """Line number in the text, from 1."""

    reason: str

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line = line
        self.reason = reason


class NPUInputError(NPUError):
    """Arrays do not match the declared inputs of the program."""


class NPUTrap(NPUError):
    """Error of an executed instruction that hardware would not detect."""

    line: int
    """Line number of the instruction, from 1."""

    text: str
    """Text of the instruction."""

    address: int | None
    """Byte address of the error in its level, if known."""

    reason: str

    origin: str | None
    """Source location of the instruction, if the text has it."""

    def __init__(
        self,
        line: int,
        text: str,
        reason: str,
        address: int | None,
        origin: str | None = None,
    ) -> None:
        location = f" of {origin}" if origin else ""
        super().__init__(f"line {line}{location}: `{text}`: {reason}")
        self.line = line
        self.origin = origin
        self.text = text
        self.address = address
        self.reason = reason


class Fault(Exception):
    """Error found in an instruction by code that does not know the instruction."""

    reason: str
    address: int | None
    """Byte address of the error in its level, if known."""

    culprit: int | None
    """Number of the conflicting engine instruction, if known."""

    def __init__(
        self, reason: str, address: int | None = None, culprit: int | None = None
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.address = address
        self.culprit = culprit
