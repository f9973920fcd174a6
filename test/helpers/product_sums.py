"""Programs in which sums of products can be rewritten as products of sums."""

from cascade_programs import run
from far_rows import decomposed
from xdsl.dialects.builtin import ModuleOp

from tlf.analysis.work.flops_and_bytes import work_of
from tlf.dialects.interfaces import ContractionInterface
from tlf.passes.graph.reassociate.sum_of_products import rewrite_sum_as_product_of_sums


def products(module: ModuleOp) -> int:
    """Return the number of multiplications."""
    contractions = [op for op in module.walk() if isinstance(op, ContractionInterface)]
    return sum(
        count for op in contractions for _, count in work_of(op).matrix_operations
    )


def changed(text: str) -> ModuleOp:
    """Return a program after the rewrite to products of sums."""
    context, module = decomposed(text)
    assert any([rewrite_sum_as_product_of_sums(op) for op in list(module.walk())])
    run("canonicalize,tlf-cse,dce", context, module)
    module.verify()
    return module
