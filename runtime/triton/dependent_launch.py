"""
Launch of Triton kernels before the end of the one before, for which they wait:
programmatic dependent launch in CUDA's programming guide.
"""

import re
from dataclasses import replace

import torch

from tlf.runtime.triton.launch_plan import Plan

_FIRST_CAPABILITY = 90
"""Least compute capability, times ten, of GPUs with `griddepcontrol` (PTX ISA)."""

_CALL = re.compile(r"\btl\.extra\.cuda\.gdc_\w+\(\)")


def adapt_to_capability(plan: Plan, capability: int) -> Plan:
    """
    Return a plan whose kernels do not wait for the one before, and start after it, if
    the GPU has a compute capability, times ten, without dependent launches.
    """
    if capability >= _FIRST_CAPABILITY:
        return plan
    kernels = (
        each.with_source(_CALL.sub("pass", each.source)) if each.is_dependent else each
        for each in plan.kernels
    )
    return replace(plan, kernels=tuple(kernels))


def least_capability() -> int:
    """Return the least compute capability of the visible GPUs, times ten."""
    devices = range(torch.cuda.device_count())
    capabilities = [torch.cuda.get_device_capability(each) for each in devices]
    return min(10 * major + minor for major, minor in capabilities)
