"""Former module of `tlf.backend` and `tlf.REPORT`."""

from tlf.compiler.api.torch_backend import tlf
from tlf.compiler.api.torch_report import REPORT

__all__ = ["REPORT", "tlf"]
