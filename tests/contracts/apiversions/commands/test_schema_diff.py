"""`fairlead api schema-diff` tells release notes what differs (section 6.1, B15)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairlead.cli.main import main
from fairlead.contracts.apiversions.commands import codes
from tests.contracts.apiversions.decide.widgets import INTEGER, NAME, TEXT, definition, made_of

Captured = pytest.CaptureFixture[str]


def written(path: Path, **schemas: Any) -> str:
    path.write_text(yaml.safe_dump({"kind": "CustomResourceDefinition", **definition(**schemas)}))
    return str(path)


OLD = made_of(spec=made_of(("size",), size=INTEGER, mode={**TEXT, "enum": ["a"]}, gone=TEXT, port=INTEGER))
NEW = made_of(
    spec=made_of(
        size=INTEGER,
        mode={**TEXT, "enum": ["a", "b"]},
        port=TEXT,
        paint={**TEXT, "description": "What it is painted with | or not. More of it."},
    )
)


def test_new_fields_and_changes_are_told_as_markdown(tmp_path: Path, capsys: Captured) -> None:
    before, after = written(tmp_path / "a.yaml", v1=OLD), written(tmp_path / "b.yaml", v1=NEW, v2=NEW)

    assert main(["api", "schema-diff", before, after]) == codes.DONE

    assert capsys.readouterr().out.splitlines() == [
        f"## {NAME}",
        "",
        "### Versions",
        "",
        "| Change | Field | What |",
        "|---|---|---|",
        "| new | `v2` | served, storage |",
        "",
        "### v1",
        "",
        "| Change | Field | What |",
        "|---|---|---|",
        "| new | `/spec/paint` | string: What it is painted with \\| or not |",
        "| wider | `/spec/mode` | takes more values |",
        "| wider | `/spec/size` | is no longer required |",
        "| stricter or different | `/spec/port` | was integer and becomes string |",
        "| gone | `/spec/gone` | is no longer known, and is pruned |",
    ]


def test_two_versions_of_one_definition_are_compared(tmp_path: Path, capsys: Captured) -> None:
    file = written(tmp_path / "a.yaml", v1=OLD, v2=NEW)

    assert main(["api", "schema-diff", file, "--versions", "v1,v2", "-o", "json"]) == codes.DONE
    (section,) = json.loads(capsys.readouterr().out)[NAME]
    assert section["title"] == "v1 to v2"
    assert len(section["rows"]) == 5

    assert main(["api", "schema-diff", file, file]) == codes.DONE
    assert "Nothing differs." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [([], "give two files, or one and --versions"), (["--versions", "v1"], "there are v1, v2")],
)
def test_mistakes_are_told(words: list[str], sentence: str, tmp_path: Path, capsys: Captured) -> None:
    file = written(tmp_path / "a.yaml", v1=OLD, v2=NEW)

    assert main(["api", "schema-diff", file, *words]) == codes.USAGE
    assert sentence in capsys.readouterr().err
