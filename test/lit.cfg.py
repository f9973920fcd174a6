"""Configuration of lit for the tests in this folder."""

import os
import shlex
import sys
from pathlib import Path

import lit.formats

HERE = Path(__file__).parent

sys.path.insert(0, str(HERE / "helpers"))

from forklit import ForkShTest, warm_up  # noqa: E402

from tlf.lowering.pipelines import npu_pipeline  # noqa: E402

forks = lit_config.params.get("fork", "1") != "0" and hasattr(os, "fork")

config.name = "TLF"
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "helpers"]
config.test_source_root = str(HERE)
config.test_exec_root = str(HERE / "Output")
config.test_format = ForkShTest() if forks else lit.formats.ShTest()
if forks:
    warm_up()  # before lit forks its workers

# A program of the cache would hide an error of the compiler.
config.environment["TLF_CACHE"] = "0"
config.environment["TLF_CACHE_DIR"] = str(HERE / "Output" / "cache")

# The commands of the environment that lit itself runs in.
bin_folder = str(Path(sys.executable).parent)
config.environment["PATH"] = os.pathsep.join([bin_folder, os.environ.get("PATH", "")])

ROUNDTRIP = (
    "tlf-opt %s --split-input-file --print-op-generic"
    " | tlf-opt --split-input-file | filecheck %s"
)
FIRST_PLANS = (
    npu_pipeline(["L2", "L1"])
    .replace("graph-partition{level=L2}", "graph-partition{level=L2 max-evaluations=0}")
    .replace("sizes{level=L1}", "sizes{level=L1 max-evaluations=0}")
)
"""`npu-pipeline` with the first plans that the formulas find."""

config.substitutions += [
    ("TLF_ROUNDTRIP", ROUNDTRIP),
    ("%first-plans", f'"{FIRST_PLANS}"'),
    ("%python", shlex.quote(sys.executable)),
    ("%root", shlex.quote(str(HERE.parent))),
]
