"""Writes the schema of the documents that programs read, from their types.

    python -m tools.explain_schema

writes `docs/explain.schema.json`. Run it again when a field is added; a test compares the file with the types.
"""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from fairlead.core.explain import Explain, OperatorReport, RolloutList

TARGET = Path(__file__).parent.parent / "docs" / "explain.schema.json"
DOCUMENTS = (Explain, RolloutList, OperatorReport)


def schema() -> str:
    """One of the documents, told apart by their kind."""
    references, components = msgspec.json.schema_components(DOCUMENTS, ref_template="#/$defs/{name}")
    whole = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Explain documents of fairlead",
        "oneOf": list(references),
        "$defs": dict(sorted(components.items())),
    }
    return json.dumps(whole, indent=2) + "\n"


if __name__ == "__main__":
    TARGET.write_text(schema())
