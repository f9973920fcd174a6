"""
The named pipelines: what `-p NAME` stands for, written as `-p` would take it.

A pipeline may name others; its options are those of the passes inside.
"""

from collections.abc import Mapping

PIPELINES: Mapping[str, str] = {
    "tidy": "canonicalize,tlf-cse,dce",
}
