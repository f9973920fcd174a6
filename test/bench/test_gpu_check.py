"""Scripts that time kernels say in a line that there is no GPU."""

from collections.abc import Callable

import pytest

pytest.importorskip("torch")

import attention
import cascades_on_gpu
import gpu_calls
import split_reductions
import transformer_layer
from cascade_cases import T

MAINS = {
    "attention": attention.main,
    "cascades_on_gpu": cascades_on_gpu.main,
    "gpu_calls": gpu_calls.main,
    "split_reductions": split_reductions.main,
    "transformer_layer": transformer_layer.main,
}


@pytest.mark.skipif(T.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize("name", MAINS)
def test_a_line(name: str, capsys: pytest.CaptureFixture[str]):
    main: Callable[..., int] = MAINS[name]
    assert main([]) == 1

    printed = capsys.readouterr()
    assert printed.out == ""
    text = f"{name}.py: error: expected a GPU that PyTorch can use, found none\n"
    assert printed.err == text


def test_unknown_forms_are_told(capsys: pytest.CaptureFixture[str]):
    assert cascades_on_gpu.main(["plane"]) == 1
    assert capsys.readouterr().err.endswith("got plane\n")
