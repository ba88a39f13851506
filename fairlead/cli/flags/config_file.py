"""`--config FILE` of `fairlead operator`: YAML with a section for each contract that it serves.

Keys are the flags of the contract without the dashes. Mistakes are raised as ValueError, one sentence each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from fairlead.core.flags import meant

ConfigSection: TypeAlias = Mapping[str, object]


def read(name: str, parts: Sequence[str]) -> dict[str, ConfigSection]:
    """The sections by part, each of a part that is served."""
    if not name:
        return {}
    content = _content(name)
    sections: dict[str, ConfigSection] = {}
    for key, section in content.items():
        if key not in parts:
            raise ValueError(
                f"{name} has a section {key}{meant(key, parts)}, but --parts has {', '.join(parts)}:"
                " name it there, or remove it"
            )
        if section is not None and not isinstance(section, dict):
            raise ValueError(f"the section {key} of {name} is no mapping: write its settings as key: value")
        sections[key] = {str(key): value for key, value in (section or {}).items()}
    return sections


def _content(name: str) -> dict[str, object]:
    import yaml

    try:
        content = yaml.safe_load(Path(name).read_text())
    except OSError as error:
        raise ValueError(f"--config names {name}, which cannot be read ({error.strerror}): correct the path") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{name} is not YAML: {' '.join(str(error).split())}") from error
    if content is not None and not isinstance(content, dict):
        raise ValueError(f"{name} is no mapping: write a section per part, such as environments:")
    return {str(key): value for key, value in (content or {}).items()}
