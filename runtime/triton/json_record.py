"""
Launch of Triton kernels: typed access to the JSON objects of launch plans, with the
path in each message.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from tlf.runtime.triton.runtime_errors import PlanError


@dataclass(frozen=True)
class JsonRecord:
    """One JSON object with its path in the text, such as `plan.kernels[0]`."""

    fields: Mapping[str, object]

    path: str

    @classmethod
    def from_json_object(cls, value: object, path: str) -> "JsonRecord":
        """Return `value` as a record; raises `PlanError` if it is not a JSON object."""
        if not isinstance(value, Mapping):
            raise PlanError(f"{path}: expected an object, got {_json_type(value)}")
        return cls(cast(Mapping[str, object], value), path)

    def has_key(self, key: str) -> bool:
        return key in self.fields

    def text_under_key(self, key: str) -> str:
        """Return the string at `key`. Raises `PlanError` for anything else."""
        value = self._value_under_key(key)
        if not isinstance(value, str):
            raise self._make_error(key, "a string", value)
        return value

    def integer_under_key(self, key: str) -> int:
        """Return the integer at `key`. Raises `PlanError` for anything else."""
        value = self._value_under_key(key)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self._make_error(key, "an integer", value)
        return value

    def integers_under_key(self, key: str) -> tuple[int, ...]:
        """
        Return the list of integers at `key`. Raises `PlanError` for anything else.
        """
        values = self._list_under_key(key)
        if not all(isinstance(v, int) and not isinstance(v, bool) for v in values):
            raise self._make_error(key, "a list of integers", values)
        return cast(tuple[int, ...], tuple(values))

    def texts_under_key(self, key: str) -> tuple[str, ...]:
        """Return the list of strings at `key`. Raises `PlanError` for anything else."""
        values = self._list_under_key(key)
        if not all(isinstance(value, str) for value in values):
            raise self._make_error(key, "a list of strings", values)
        return cast(tuple[str, ...], tuple(values))

    def record_under_key(self, key: str) -> "JsonRecord":
        return JsonRecord.from_json_object(
            self._value_under_key(key), f"{self.path}.{key}"
        )

    def records_under_key(self, key: str) -> tuple["JsonRecord", ...]:
        """Return the objects in the list at `key`, each with its indexed path."""
        return tuple(
            JsonRecord.from_json_object(value, f"{self.path}.{key}[{index}]")
            for index, value in enumerate(self._list_under_key(key))
        )

    def _value_under_key(self, key: str) -> object:
        if key not in self.fields:
            raise PlanError(f"{self.path}: missing `{key}`")
        return self.fields[key]

    def _list_under_key(self, key: str) -> list[object]:
        """Return a copy of the list at `key`. Raises `PlanError` for anything else."""
        value = self._value_under_key(key)
        if not isinstance(value, list | tuple):
            raise self._make_error(key, "a list", value)
        return list(cast(list[object], value))

    def _make_error(self, key: str, expected: str, value: object) -> PlanError:
        return PlanError(
            f"{self.path}.{key}: expected {expected}, got {_json_type(value)}"
        )


def _json_type(value: object) -> str:
    """Return how an error message names `value`: scalars by value, others by type."""
    if value is None:
        return "null"
    if isinstance(value, list | tuple):
        return "a list"
    return repr(value) if isinstance(value, str | int | float) else "an object"
