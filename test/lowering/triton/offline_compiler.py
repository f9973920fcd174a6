"""
Compiles kernels for sm_90 without a GPU, in a process where Triton does not interpret.

Reads one JSON object per line from stdin (`path`, `name`, `types`, `num_warps`,
`num_stages`) and answers with one line: `ok`, or the error.
"""

import json
import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from typing import cast


def compile_kernel(request: dict[str, object]) -> str:
    triton = import_module("triton")
    target = import_module("triton.backends.compiler").GPUTarget("cuda", 90, 32)
    spec = spec_from_file_location("_offline_kernel", str(request["path"]))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    function = getattr(module, str(request["name"]))
    types = cast(list[str], request["types"])
    signature = dict(zip(function.arg_names, types, strict=True))
    pointers = [i for i, type_ in enumerate(types) if type_.startswith("*")]
    attributes = {(i,): [["tt.divisibility", 16]] for i in pointers}
    options = {name: request[name] for name in ("num_warps", "num_stages")}
    try:
        source = import_module("triton.compiler").ASTSource(
            function, signature, {}, attributes
        )
        triton.compile(source, target=target, options=options)
    except Exception as error:
        return f"{type(error).__name__}: {' '.join(str(error).split())}"
    return "ok"


if __name__ == "__main__":
    for line in sys.stdin:
        print(compile_kernel(json.loads(line)), flush=True)
