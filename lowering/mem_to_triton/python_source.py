"""Emission of Triton code as Python source: lines, indentation and generated names."""

from collections.abc import Generator
from contextlib import contextmanager

from xdsl.ir import SSAValue

INDENT = "    "


class PythonSource:
    """
    Body of a generated Python function. All names are generated, so that they are valid
    and unique.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._depth = 1
        self._counts: dict[str, int] = {}
        self._scopes: list[dict[str, str]] = [{}]

    def add_line(self, text: str) -> None:
        self.lines.append(INDENT * self._depth + text)

    def add_comment(self, text: str) -> None:
        """Add a comment line; characters that are not printable ASCII are escaped."""
        self.add_line(f"# {_escape_non_ascii(text)}")

    def comment_value_name(self, value: SSAValue) -> None:
        """Append the name hint of a value, if any, as a comment to the last line."""
        if value.name_hint:
            self.lines[-1] += f"  # {_escape_non_ascii(f'%{value.name_hint}')}"

    def generate_unique_name(self, prefix: str) -> str:
        """Return a unique name: the prefix and a counter."""
        count = self._counts.get(prefix, 0)
        self._counts[prefix] = count + 1
        return f"{prefix}{count}"

    def assign_variable(self, prefix: str, expression: str) -> str:
        """Assign an expression to a new variable and return its name."""
        name = self.generate_unique_name(prefix)
        self.add_line(f"{name} = {expression}")
        return name

    def assign_variable_once(self, prefix: str, expression: str) -> str:
        """
        Return the variable of `expression`, assigned at most once per scope. Variables
        in the expression must not be reassigned.
        """
        for scope in self._scopes:
            if (name := scope.get(expression)) is not None:
                return name
        name = self.assign_variable(prefix, expression)
        self._scopes[-1][expression] = name
        return name

    @contextmanager
    def indent_block(self) -> Generator[None]:
        """
        Indent the lines added in this context as one scope, with `pass` if it has no
        code.
        """
        self._depth += 1
        self._scopes.append({})
        start = len(self.lines)
        yield
        if not any(not line.lstrip().startswith("#") for line in self.lines[start:]):
            self.add_line("pass")
        self._scopes.pop()
        self._depth -= 1


def _escape_non_ascii(text: str) -> str:
    return text.encode("unicode_escape").decode("ascii")
