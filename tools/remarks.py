"""What passes told of a program: of whole tensors, and of loops nearer the engines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tlf.dialects.graph import RemarkAttr, forget_remarks, remarks_of, sentence
from tlf.lowering.pipelines import PIPELINES
from tlf.passes.fusion.notes import NO_LOOP
from tlf.passes.graph_group import GraphGroupPass
from tlf.tools.pass_manager import PassManager
from tlf.tools.planned import Planned


@dataclass(frozen=True)
class Remark:
    """What a pass did, or why it did not."""

    source: str
    """The pass."""
    kind: str
    """Whether something was done: `passed` or `missed`."""
    text: str
    places: Sequence[str]
    """
    Parts of an imported module, operations of its graph, names of values, or places in
    the source.
    """
    level: str | None
    """The memory level of the groups that it is about, if they are in others."""

    def __str__(self) -> str:
        level = "" if self.level is None else f"in {self.level}: "
        return level + sentence(self.source, self.kind, self.text, self.places)


def remarks(
    context: Context, module: ModuleOp, planned: Planned
) -> Mapping[str, Sequence[Remark]]:
    """
    What passes told of each function until its outermost groups had plans, then of the
    groups that tiles of these become, level by level. `module` stays as it is. What
    groups were before `graph-partition` is left out.
    """
    found = {
        name: [_remark(each, None) for each in noted if not _is_over(each, planned)]
        for name, noted in _noted(module)
    }
    for each in found.values():
        each.sort(key=_place_of)
    copy = module.clone()
    for level, passes in _nearer(planned.rest):
        _forget(copy)
        PassManager(passes).run(context, copy)
        for name, noted in _noted(copy):
            found.setdefault(name, []).extend(_remark(each, level) for each in noted)
    return found


def _nearer(
    passes: Sequence[ModulePass],
) -> Iterator[tuple[str | None, Sequence[ModulePass]]]:
    """The levels that tiles are still brought to, each with the passes until then."""
    start = 0
    for end, each in enumerate(passes, 1):
        if isinstance(each, GraphGroupPass):
            yield each.level, passes[start:end]
            start = end


def _noted(module: ModuleOp) -> Iterator[tuple[str, Sequence[RemarkAttr]]]:
    for op in module.ops:
        if isinstance(op, func.FuncOp):
            yield op.sym_name.data, remarks_of(op)


def _forget(module: ModuleOp) -> None:
    for op in module.ops:
        if isinstance(op, func.FuncOp):
            forget_remarks(op)


def _is_over(remark: RemarkAttr, planned: Planned) -> bool:
    """
    Whether a remark is about groups that `graph-partition` merged, or might have, and
    not about what no group can do.
    """
    if planned.partitioner is None or remark.source.data != GraphGroupPass.name:
        return False
    return not remark.text.data.startswith(NO_LOOP)


def _remark(remark: RemarkAttr, level: str | None) -> Remark:
    words = (remark.source.data, remark.kind.data, remark.text.data)
    return Remark(*words, remark.place_names, level)


def _place_of(remark: Remark) -> int:
    """Where the pass of a remark stands among those on whole tensors."""
    order = PIPELINES["graph-pipeline"].split(",")
    return order.index(remark.source) if remark.source in order else len(order)
