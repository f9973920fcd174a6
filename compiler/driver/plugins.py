"""
Driver: plugins with dialects, passes and formats of other installed packages, found by
entry points as in xDSL.

Plugins are searched only for names that neither xDSL nor TLF defines, so that
compilation of TLF programs does not depend on installed packages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from itertools import chain
from typing import Generic, TypeVar

from xdsl.ir import Attribute, Operation, TypeAttribute
from xdsl.universe import XDSL_UNIVERSE, Universe
from xdsl.utils.exceptions import DiagnosticException

from tlf.compiler.driver.universe import TLF_UNIVERSE
from tlf.planner.context import PlanningContext

ENTRY_POINT_GROUP = "xdsl.universe"
"""Group of entry points in which xDSL looks for plugins."""

BUILTIN_UNIVERSES = (XDSL_UNIVERSE, TLF_UNIVERSE)

FactoryT = TypeVar("FactoryT")


@cache
def load_plugins() -> Mapping[str, Universe]:
    """Return the universes of plugins by name. Raises `DiagnosticException`."""
    universes = {
        point.name: _load_plugin_universe(point)
        for point in entry_points(group=ENTRY_POINT_GROUP)
    }
    return {
        name: universes[name]
        for name in sorted(universes)
        if universes[name] not in BUILTIN_UNIVERSES
    }


def _load_plugin_universe(point: EntryPoint) -> Universe:
    """
    Import the `Universe` at `point`. Raises `DiagnosticException` if there is none.
    """
    try:
        universe = point.load()
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise DiagnosticException(
            f"plugin `{point.name}`: cannot load `{point.value}` ({reason})"
        ) from error
    if not isinstance(universe, Universe):
        got = type(universe).__name__
        raise DiagnosticException(
            f"plugin `{point.name}`: expected `{point.value}` to be a universe of "
            f"xDSL, got one of type {got}"
        )
    return universe


class FactoryRegistry(Mapping[str, FactoryT], Generic[FactoryT]):
    """
    Factories by name, of xDSL, of TLF and of plugins, which are searched for other
    names only. Raises `DiagnosticException` for a name that two plugins define.
    """

    def __init__(
        self,
        factories_of_universe: Callable[[Universe], Mapping[str, FactoryT]],
        overrides: Mapping[str, FactoryT] | None = None,
    ) -> None:
        self._table = factories_of_universe
        self._own = {
            name: factory
            for universe in BUILTIN_UNIVERSES
            for name, factory in factories_of_universe(universe).items()
        }
        self._own |= overrides or {}

    def __getitem__(self, name: str) -> FactoryT:
        return self._own[name] if name in self._own else self._find_in_plugins(name)

    def __iter__(self) -> Iterator[str]:
        return chain(self._own, self.plugin_names())

    def __len__(self) -> int:
        return len(self._own) + len(self.plugin_names())

    def plugin_names(self) -> Sequence[str]:
        """Return the names that plugins add."""
        names = chain.from_iterable(map(self._table, load_plugins().values()))
        return sorted(set(names) - self._own.keys())

    def _find_in_plugins(self, name: str) -> FactoryT:
        """
        Return the factory of the only plugin with `name`. Raises `KeyError` if there is
        none, `DiagnosticException` if there are several.
        """
        tables = {
            each: self._table(universe) for each, universe in load_plugins().items()
        }
        owners = [each for each, table in tables.items() if name in table]
        if not owners:
            raise KeyError(name)
        if len(owners) > 1:
            listed = " and ".join(f"`{each}`" for each in owners)
            raise DiagnosticException(f"`{name}` is in several plugins: {listed}")
        return tables[owners[0]][name]


DIALECTS = FactoryRegistry(lambda universe: universe.all_dialects)


class PluginContext(PlanningContext):
    """
    Context that registers a dialect of xDSL, TLF or a plugin at the first look-up of
    one of its names.
    """

    def get_optional_op(
        self, name: str, *, dialect_stack: Sequence[str] = ()
    ) -> type[Operation] | None:
        self._register_dialect_of(name)
        return super().get_optional_op(name, dialect_stack=dialect_stack)

    def get_optional_type(self, name: str) -> type[TypeAttribute] | None:
        self._register_dialect_of(name)
        return super().get_optional_type(name)

    def get_optional_attr(self, name: str) -> type[Attribute] | None:
        self._register_dialect_of(name)
        return super().get_optional_attr(name)

    def _register_dialect_of(self, name: str) -> None:
        dialect, dot, _ = name.partition(".")
        if dot and dialect not in self._registered_dialects and dialect in DIALECTS:
            self.register_dialect(dialect, DIALECTS[dialect])
