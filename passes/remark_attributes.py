"""Rewrite of passes on plans: attach collected remarks to functions."""

from tlf.dialects.graph import add_shared_remark
from tlf.planner.fusion.remark_collector import RemarkCollector


def attach_remarks(remarks: RemarkCollector) -> None:
    """
    Add collected remarks to the remark attributes of the functions they are about.
    """
    for (_, kind, text, topic), operations in remarks.operations.items():
        add_shared_remark(
            operations, remarks.pass_name, kind, text, topic, remarks.level
        )
