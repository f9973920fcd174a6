"""Programs whose sums of products are products of sums."""

from cascade_programs import run
from far_rows import decomposed
from xdsl.dialects.builtin import ModuleOp

from tlf.analysis.work.work import work_of
from tlf.dialects.interfaces import ContractionInterface
from tlf.passes.graph.reassociate.products import sum_factors


def products(module: ModuleOp) -> int:
    """Return the number of multiplications."""
    contractions = [op for op in module.walk() if isinstance(op, ContractionInterface)]
    return sum(count for op in contractions for _, count in work_of(op).matrix)


def changed(text: str) -> ModuleOp:
    """A program with products of sums."""
    context, module = decomposed(text)
    assert any([sum_factors(op) for op in list(module.walk())])
    run("canonicalize,tlf-cse,dce", context, module)
    module.verify()
    return module
