"""`--config FILE` of `fairlead operator`: YAML with a section per part, `zones:` and `environments:`.

The section of environments has the flags of their contract without the dashes; that of zones has the options of the
command that concern them, which the command line overrides. Mistakes are raised as ValueError, one sentence each.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from fairlead.cli.flags.clap import meant

if TYPE_CHECKING:
    from fairlead.contracts.environments.settings import EnvironmentsOptions

Section: TypeAlias = Mapping[str, object]

SERVICE = "fairlead"
ZONES: Mapping[str, str | bool] = {
    "interval": "",
    "cluster-domain": "cluster.local.",
    "pods-timeout": "5s",
    "zone-tracker": "",
    "phased-deployments": False,
}
"""Keys of the section of zones, and what holds where neither it nor the command line says anything."""
DURATIONS = ("interval", "pods-timeout")


def read(name: str, parts: Sequence[str]) -> dict[str, Section]:
    """The sections by part, each of a part that is served."""
    if not name:
        return {}
    content = _content(name)
    sections: dict[str, Section] = {}
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


def fill_zones(arguments: argparse.Namespace, section: Section, name: str) -> None:
    """Puts into the arguments what the command line leaves open."""
    for key, value in section.items():
        if key not in ZONES:
            raise ValueError(f"zones.{key} of {name} is unknown{meant(key, ZONES)}: remove it or correct its name")
        if key in DURATIONS and isinstance(value, int | float) and not isinstance(value, bool):
            raise ValueError(f"zones.{key} of {name} is {value}: write a duration such as {value}s")
        if not isinstance(value, type(ZONES[key])):
            kind = "true or false" if isinstance(ZONES[key], bool) else "a text, in quotes where YAML needs them"
            raise ValueError(f"zones.{key} of {name} is of the wrong kind: write {kind}")  # noqa: TRY004
    for key, default in ZONES.items():
        attribute = key.replace("-", "_")
        if getattr(arguments, attribute) is None:
            setattr(arguments, attribute, section.get(key, default))


def environments_of(arguments: argparse.Namespace, section: Section | None) -> EnvironmentsOptions:
    """What the section comes down to; the certificate of the command line serves where it names no other."""
    from fairlead.cli.flags.clap import parse_section
    from fairlead.contracts.environments.flags import CONTRACT, SERVICE_NAME, TLS_CA, TLS_CERT, TLS_KEY
    from fairlead.contracts.environments.options import conversion_of, settings_of
    from fairlead.contracts.environments.settings import EnvironmentsOptions

    if section is None:
        raise ValueError("--parts names environments: give their settings in a section environments: of --config FILE")
    files = (
        (TLS_CA, arguments.certificate_authority_file),
        (TLS_CERT, arguments.certificate_file),
        (TLS_KEY, arguments.certificate_key_file),
    )
    defaults: dict[str, object] = {SERVICE_NAME.name: SERVICE, **{flag.name: name for flag, name in files if name}}
    given = parse_section(CONTRACT, section, "environments.", defaults)
    return EnvironmentsOptions(settings=settings_of(given), conversion=conversion_of(given))
