"""Errors of an NPU program: in its text, its inputs and its execution."""


class NPUError(Exception):
    """Base of all errors of the simulator."""


class NPUParseError(NPUError):
    """
    The text is not a program.
    """

    line: int
    """Line number in the text, from 1."""

    reason: str

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line = line
        self.reason = reason


class NPUInputError(NPUError):
    """The arrays given do not fit the inputs that the program declares."""


class NPUTrap(NPUError):
    """
    An instruction does what real hardware would get wrong without a word.
    """

    line: int
    """Line number of the instruction, from 1."""

    text: str
    """The instruction as written."""

    address: int | None
    """Offending byte address in its level, where there is one."""

    reason: str

    origin: str | None
    """Place in the source that the instruction comes from, where the text has it."""

    def __init__(
        self,
        line: int,
        text: str,
        reason: str,
        address: int | None,
        origin: str | None = None,
    ) -> None:
        place = f" of {origin}" if origin else ""
        super().__init__(f"line {line}{place}: `{text}`: {reason}")
        self.line = line
        self.origin = origin
        self.text = text
        self.address = address
        self.reason = reason


class Fault(Exception):
    """
    A trap that does not know its instruction yet.
    """

    reason: str
    address: int | None
    """Offending byte address in its level, where there is one."""

    culprit: int | None
    """Number of the engine instruction that is in conflict, where there is one."""

    def __init__(
        self, reason: str, address: int | None = None, culprit: int | None = None
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.address = address
        self.culprit = culprit
