"""The benchmark of worker processes."""

import json
from pathlib import Path

from kernel_workers import time_in_process
from triton_requests import COPY, make_plan


def test_time_of_a_process(tmp_path: Path):
    plan = tmp_path / "plan.txt"
    plan.write_text(json.dumps(make_plan(COPY)))
    assert 0 < time_in_process(plan, workers=1, head_start=0.0, runs=1) < 60
