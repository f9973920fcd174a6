"""
Former module path of `tlf.backend` and `tlf.REPORT`, kept for code that imports it.
"""

from tlf.compiler.api.torch_backend import tlf
from tlf.compiler.api.torch_report import REPORT

__all__ = ["REPORT", "tlf"]
