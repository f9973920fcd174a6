"""Graphs over several accelerators are compiled in parts, each for one."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

from tlf.frontend.torch.fx_partition import (
    PartitionedGraph,
    accelerators_of,
    list_accelerators,
    partition_graph,
)
from tlf.frontend.torch.graph_import import import_graph

ATEN = torch.ops.aten
MODE = FakeTensorMode()


def _fake(device: str) -> FakeTensor:
    return FakeTensor(MODE, torch.empty(4, device="meta"), torch.device(device))


def _graph(devices: Sequence[str], *, moves: bool = True) -> fx.GraphModule:
    """
    A chain of `relu`, one per device; where the device changes, a copy to the next one
    before it. Without `moves`, every `relu` reads an argument of its own.
    """
    graph = fx.Graph()
    arguments = [graph.placeholder(f"x{index}") for index in range(len(devices))]
    for node, device in zip(arguments, devices, strict=True):
        node.meta["val"] = _fake(device)
    value, results = arguments[0], list[fx.Node]()
    for argument, device in zip(arguments, devices, strict=True):
        value = value if moves else argument
        if value.meta["val"].device != torch.device(device):
            value = graph.call_function(
                ATEN._to_copy.default, (value,), {"device": torch.device(device)}
            )
            value.meta["val"] = _fake(device)
        value = graph.call_function(ATEN.relu.default, (value,))
        value.meta["val"] = _fake(device)
        results.append(value)
    graph.output(tuple(results))
    return fx.GraphModule(torch.nn.Module(), graph)


def _parts(found: PartitionedGraph) -> list[list[str]]:
    """The operations of each part, with the accelerators of each; parts convert."""
    parts = list[list[str]]()
    for name in found.submodules:
        part = found.module.get_submodule(name)
        assert isinstance(part, fx.GraphModule)
        import_graph(part).module.verify()
        parts.append(
            [
                f"{node.target} {sorted(map(str, accelerators_of(node)))}"
                for node in part.graph.nodes
                if node.op == "call_function"
            ]
        )
    return parts


def test_copies_between_accelerators_stay_with_pytorch():
    found = partition_graph(_graph(["cuda:0", "cuda:1", "cuda:0"]))
    relu = "aten.relu.default"
    assert sorted(_parts(found)) == [
        [f"{relu} ['cuda:0']"],
        [f"{relu} ['cuda:0']"],
        [f"{relu} ['cuda:1']"],
    ]
    (text,) = {reason.text for reason in found.unconverted_operations}
    assert text == "it moves tensors between accelerators"
    assert not any(reason.is_fault for reason in found.unconverted_operations)
    found.module.graph.lint()


def test_no_part_is_on_two_accelerators():
    found = partition_graph(_graph(["cuda:0", "cuda:1"], moves=False))
    assert [len(each) for each in _parts(found)] == [1, 1]
    assert not found.unconverted_operations


def test_the_cpu_joins_an_accelerator():
    found = partition_graph(_graph(["cpu", "cuda:1", "cpu"]))
    assert [len(each) for each in _parts(found)] == [5]
    assert not found.unconverted_operations


def test_a_graph_on_the_cpu_has_no_accelerators():
    source = _graph(["cpu", "cpu"])
    assert list_accelerators(source.graph) == ()
    assert [len(each) for each in _parts(partition_graph(source))] == [2]
