"""Expressions and what the API server said of them; `python -m tools.answers expressions` asks it again.

An expression that is added to the file with null as its answer is recorded with the others.
"""

from __future__ import annotations

import json
from pathlib import Path

from tests.kubesim.trees import Tree

PATH = Path(__file__).parent / "cel_answers.json"
OBJECT: Tree = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "x", "labels": {"a": "b"}},
    "data": {"k": "v", "n": "5"},
}


def recorded() -> Tree:
    """`mistakes` of expressions that cannot be used as conditions, and `values` of those that can."""
    found: Tree = json.loads(PATH.read_text(encoding="utf-8"))
    return found
