"""The fraction of a run that is done, as observers see it."""

import pytest

from tlf.runtime.npu import parse, run

CODE = """
.code
loop %i = 0 to 4 {
  loop %j = 0 to 3 {
    %a = add %i %j
  }
}
%n = mov 2
loop %i = 0 to %n {
  %a = add %i 1
}
halt
"""


@pytest.mark.parametrize("functional", [True, False])
def test_iterations_of_outer_loops(machine: str, functional: bool):
    seen: list[float] = []
    run(
        parse(machine + CODE.lstrip()),
        {},
        functional=functional,
        step_by_step=True,
        observe_fraction=seen.append,
    )
    assert seen == [0, 1 / 8, 2 / 8, 3 / 8, 1 / 2, 3 / 4]


def test_loops_on_cores_count_once(many_cores: str):
    code = ".code\ncores %c {\n  loop %i = %c to 4 {\n    %a = add %i 1\n  }\n}\nhalt"
    seen: list[float] = []
    run(parse(f"{many_cores}{code}"), {}, observe_fraction=seen.append)
    assert seen == [0, 1 / 4, 2 / 4, 3 / 4]
