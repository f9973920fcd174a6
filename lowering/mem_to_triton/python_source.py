"""Python source writer: lines, indentation and generated names."""

from collections.abc import Generator
from contextlib import contextmanager

from xdsl.ir import SSAValue

INDENT = "    "


class PythonSource:
    """
    The body of one generated Python function. Every name is generated, so none can
    clash or be unsafe.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._depth = 1
        self._counts: dict[str, int] = {}
        self._scopes: list[dict[str, str]] = [{}]

    def add_line(self, text: str) -> None:
        self.lines.append(INDENT * self._depth + text)

    def add_comment(self, text: str) -> None:
        """
        Add a comment; characters that are not printable ASCII are escaped.
        """
        self.add_line(f"# {_escape_non_ascii(text)}")

    def annotate_value(self, value: SSAValue) -> None:
        """
        Add the name of a value in the IR, if it has one, to the last line.
        """
        if value.name_hint:
            self.lines[-1] += f"  # {_escape_non_ascii(f'%{value.name_hint}')}"

    def fresh_name(self, prefix: str) -> str:
        """
        A name that nothing else has: the prefix and a number.
        """
        number = self._counts.get(prefix, 0)
        self._counts[prefix] = number + 1
        return f"{prefix}{number}"

    def assign(self, prefix: str, expression: str) -> str:
        """
        Assign to a new name, which is returned.
        """
        name = self.fresh_name(prefix)
        self.add_line(f"{name} = {expression}")
        return name

    def assign_once(self, prefix: str, expression: str) -> str:
        """
        Return the name of `expression`, assigned at most once per scope. The names in
        the expression must not be assigned again.
        """
        for scope in self._scopes:
            if (name := scope.get(expression)) is not None:
                return name
        name = self.assign(prefix, expression)
        self._scopes[-1][expression] = name
        return name

    @contextmanager
    def indent(self) -> Generator[None]:
        """Indent a block, such as the body of a loop."""
        self._depth += 1
        self._scopes.append({})
        before = len(self.lines)
        yield
        if not any(not line.lstrip().startswith("#") for line in self.lines[before:]):
            self.add_line("pass")
        self._scopes.pop()
        self._depth -= 1


def _escape_non_ascii(text: str) -> str:
    return text.encode("unicode_escape").decode("ascii")
