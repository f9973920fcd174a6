"""
Worker process of the offline compiler: compiles kernels for a GPU that is not present.

It is a separate process because Triton must not be in interpreter mode. It reads one
JSON object per line from stdin (`path`, `name`, `types`, `num_warps`, `num_stages`,
`is_newest`, `capability`, `assemble`) and answers each with one: `error`, or `shared`,
`warps`, `ptx`, `log` and `wrong_descriptors`. The last three are present with
`assemble`.
"""

import json
import os
import subprocess
import sys
import tempfile
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, cast

from tlf.runtime.triton.descriptor_check import find_descriptor_faults_of_kernel
from tlf.runtime.triton.kernel_cache import compile_through_cache
from tlf.runtime.triton.ptxas_selection import OPTIONS, use_assembler

Json = dict[str, object]


def main() -> None:
    """
    Answer each JSON request line of stdin with a JSON line on stdout, until the end.
    """
    answers = os.dup(1)
    # Redirect the output of the compiler to stderr.
    os.dup2(2, 1)
    with os.fdopen(answers, "w") as output:
        for line in sys.stdin:
            print(
                json.dumps(_answer_request(json.loads(line))), file=output, flush=True
            )


def _answer_request(request: Json) -> Json:
    """Return the compiled kernel's data, or the text of any exception as `error`."""
    try:
        return _compile_requested_kernel(request)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {' '.join(str(error).split())}"}


def _compile_requested_kernel(request: Json) -> Json:
    """Compile by Triton; return resources, and with `assemble` PTX, log and faults."""
    triton: Any = import_module("triton")
    compiler: Any = import_module("triton.compiler")
    targets: Any = import_module("triton.backends.compiler")
    function: Any = _load_kernel_function(str(request["path"]), str(request["name"]))
    types = cast(list[str], request["types"])
    capability = cast(int, request["capability"])
    # Buffers are aligned, because allocators align them.
    pointers = [index for index, type_ in enumerate(types) if type_.startswith("*")]
    aligned = {(index,): [["tt.divisibility", 16]] for index in pointers}
    signature = dict(zip(function.arg_names, types, strict=True))
    options = {name: request[name] for name in ("num_warps", "num_stages")}
    is_newest = bool(request["is_newest"])
    with use_assembler(is_newest):
        kernel: Any = compile_through_cache(
            lambda: triton.compile(
                compiler.ASTSource(function, signature, {}, aligned),
                target=targets.GPUTarget("cuda", capability, 32),
                options={**options, **(OPTIONS if is_newest else {})},
            )
        )
        program = str(triton.knobs.nvidia.ptxas.path)
    answer: Json = {
        "shared": int(kernel.metadata.shared),
        "warps": int(kernel.metadata.num_warps),
    }
    if request["assemble"]:
        ptx = str(kernel.asm["ptx"])
        answer |= {
            "ptx": ptx,
            "log": _assemble_ptx(ptx, program, capability),
            "wrong_descriptors": find_descriptor_faults_of_kernel(kernel),
        }
    return answer


def _load_kernel_function(path: str, name: str) -> object:
    """Execute the Python file `path`, and return the function `name` in it."""
    spec = spec_from_file_location("_offline_kernel", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot import {path}")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


def _assemble_ptx(ptx: str, assembler: str, capability: int) -> str:
    """
    Assemble a kernel by `ptxas -v`, and return its log; raises `RuntimeError` if it
    fails.
    """
    chip = f"sm_{capability}a" if capability >= 90 else f"sm_{capability}"
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "kernel.ptx")
        source.write_text(ptx)
        result = subprocess.run(
            [assembler, "-v", f"--gpu-name={chip}", source, "-o", f"{folder}/kernel"],
            capture_output=True,
            text=True,
            check=False,
        )
    if result.returncode:
        raise RuntimeError(result.stderr)
    return result.stderr


if __name__ == "__main__":
    main()
