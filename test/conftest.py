"""
Shared configuration of all tests: device of kernels, and combinations that `--whole`
adds.
"""

import gc
import os
import tempfile
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress

import pytest

from tlf.compiler.driver import driver
from tlf.runtime.triton.device_selection import choose_interpreter_mode
from tlf.runtime.triton.runtime_errors import UnavailableError


def pytest_addoption(parser: pytest.Parser):
    parser.addoption(
        "--whole",
        action="store_true",
        help="run all tests and combinations of parameters, also of those marked "
        "`long` and `one_in`",
    )


FEWER = 8
"""
Factor by which fewer combinations run than tests ask for by `one_in`, so that all tests
end in a quarter of an hour on two cores.
"""


FEWER_DRAWS = 4
"""Factor by which fewer random programs are drawn than tests ask for."""


def pytest_configure(config: pytest.Config):
    config.addinivalue_line(
        "markers",
        "one_in(count): run one in `FEWER * count` combinations of parameters, a whole "
        "number, unless given `--whole` or the name of a test",
    )
    config.addinivalue_line(
        "markers",
        "long: takes more than ten seconds, and runs only when given `--whole` or the "
        "name of a test",
    )
    config.addinivalue_line(
        "markers",
        "searched: compares plans by trial lowering where tests beside it take the "
        "first ones",
    )
    # A program of the cache would hide an error of the compiler. Sources of kernels are
    # in the folder of the cache even so.
    os.environ["TLF_CACHE"] = "0"
    if "TLF_CACHE_DIR" not in os.environ:
        folder = tempfile.TemporaryDirectory(prefix="tlf-test-cache-")
        config.add_cleanup(folder.cleanup)
        os.environ["TLF_CACHE_DIR"] = folder.name
    # Programs have many long-lived cycles.
    gc.set_threshold(100_000, 20, 50)
    # Tests run in processes of their own already.
    os.environ["TLF_COMPILE_WORKERS"] = "0"
    # Whatever test is the first to import Triton, kernels run where they can.
    with suppress(UnavailableError):
        choose_interpreter_mode()


def is_whole(config: pytest.Config) -> bool:
    """Return `True` if all combinations of parameters run."""
    return config.getoption("whole") or any("::" in each for each in config.args)


@pytest.fixture(scope="session")
def draws(pytestconfig: pytest.Config) -> Callable[[int], int]:
    """
    Number of random programs, of so many: one in `FEWER_DRAWS`, rounded up, or all
    given `--whole` or the name of a test.
    """
    divisor = 1 if is_whole(pytestconfig) else FEWER_DRAWS
    return lambda count: -(-count // divisor)


@pytest.fixture
def first_plans(pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Let this process compile with the first plans that the formulas find, which no trial
    lowering compares; not given `--whole` or the name of a test.
    """
    if not is_whole(pytestconfig):
        monkeypatch.setattr(driver, "_make_cycle_evaluator", None)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]):
    if is_whole(config):
        return
    samples = Samples()
    left_out = {each for each in items if not samples.hold(each)}
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [each for each in items if each not in left_out]


class Samples:
    """Sample of the tests that run: of two parameters, the diagonals of a square."""

    def __init__(self) -> None:
        self._values: defaultdict[tuple[str, str], list[object]] = defaultdict(list)
        """The values of a test's parameter that were seen, in order."""

    def hold(self, item: pytest.Item) -> bool:
        """
        Return `True` if a test runs. It must come after those before it in its
        function.
        """
        if item.get_closest_marker("long") is not None:
            return False
        mark = item.get_closest_marker("one_in")
        if mark is None or not isinstance(item, pytest.Function):
            return True
        (count,) = mark.args
        test = item.nodeid.partition("[")[0]
        places = (self._place(test, *each) for each in item.callspec.params.items())
        return sum(places) % (FEWER * count) == 0

    def _place(self, test: str, name: str, value: object) -> int:
        values = self._values[test, name]
        for place, each in enumerate(values):
            if each is value:
                return place
        values.append(value)
        return len(values) - 1
