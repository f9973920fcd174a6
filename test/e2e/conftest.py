"""Programs of every size, from text to results."""

import os

import pytest

# More threads than one cost more than they gain, on small arrays and beside each other.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")


@pytest.fixture(autouse=True)
def use_first_plans(request: pytest.FixtureRequest) -> None:
    """Only tests marked `searched` depend on plans."""
    if request.node.get_closest_marker("searched") is None:
        request.getfixturevalue("first_plans")
