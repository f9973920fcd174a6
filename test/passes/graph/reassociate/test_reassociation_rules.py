"""Rules of operations, found once until they change."""

import pytest
from gpu_programs import parsed, product

from tlf.dialects import graph
from tlf.passes.graph.reassociate import reassociation_rules
from tlf.passes.graph.reassociate.reassociation_rules import KnownRules


def test_the_rule_of_an_operation_is_found_once(monkeypatch: pytest.MonkeyPatch):
    module = parsed(product(64, 64, 64))
    (op,) = (each for each in module.walk() if isinstance(each, graph.MatmulOp))
    rules = KnownRules()
    assert not rules.has_rule(op)
    monkeypatch.delattr(reassociation_rules, "reassociation_rule_for")
    assert not rules.has_rule(op)
    rules.clear()
    with pytest.raises(NameError):
        rules.has_rule(op)
