"""Rule sets in files, in folders and in ConfigMaps, as sources (section 2.6)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path

from msgspec import Struct, structs

from fairlead.contracts.apiversions.decide.rule_sets import RulesRejected
from fairlead.contracts.apiversions.decide.rule_sources import ALWAYS, Rank, RuleSource
from fairlead.contracts.apiversions.kinds import ATTACH_ANYWAY
from fairlead.contracts.apiversions.named_rules import FIELD, expanded
from fairlead.contracts.apiversions.rule_files import DEFINITION
from fairlead.engine.object_files import UnreadableFile, documents_in
from kubeloop.objects.core import CONFIGMAPS
from kubeloop.objects.meta import Meta, Ref

ENDINGS = (".yaml", ".yml", ".json")


class _Meta(Meta, frozen=True, rename="camel"):
    creation_timestamp: datetime | None = None
    annotations: dict[str, str] = {}


class RuleMap(Struct, frozen=True):
    """A ConfigMap with rule sets."""

    metadata: _Meta
    data: dict[str, str] = {}

    @property
    def ref(self) -> Ref:
        return Ref(CONFIGMAPS, self.metadata.namespace, self.metadata.name, self.metadata.uid)


def in_files(paths: Iterable[str]) -> tuple[RuleSource, ...]:
    """What the files hold now, and those of the folders."""
    return tuple(source for path in paths for file in files_of(path) for source in _in_file(file))


def files_of(path: str) -> list[Path]:
    """A folder's are those that end as such files do; what begins with a dot is how a kubelet exchanges them."""
    given = Path(path)
    if not given.is_dir():
        return [given]
    return sorted(each for each in given.iterdir() if each.suffix in ENDINGS and not each.name.startswith("."))


def _in_file(path: Path) -> Iterator[RuleSource]:
    place = f"file {path}"
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
        yield RuleSource(place, Rank.FILE, problem=f"{place} cannot be read ({why}): correct the path or the file")
        return
    yield from _in_text(text, place, Rank.FILE, None, ALWAYS)


def in_maps(maps: Iterable[RuleMap]) -> tuple[RuleSource, ...]:
    return tuple(source for each in maps for source in _in_map(each))


def _in_map(found: RuleMap) -> Iterator[RuleSource]:
    name, created = f"{found.metadata.namespace}/{found.metadata.name}", found.metadata.creation_timestamp or ALWAYS
    anyway = found.metadata.annotations.get(ATTACH_ANYWAY) == "true"
    for key, text in sorted(found.data.items()):
        if key.endswith(ENDINGS):
            for each in _in_text(text, f"ConfigMap {name} key {key}", Rank.CONFIG_MAP, found.ref, created):
                yield structs.replace(each, anyway=anyway)


def _in_text(text: str, place: str, rank: Rank, about: Ref | None, created: datetime) -> Iterator[RuleSource]:
    try:
        documents = documents_in(text, place)
    except UnreadableFile as error:
        yield RuleSource(place, rank, problem=str(error), about=about, created=created)
        return
    for each in documents:
        # A definition beside its rules is what an offline upgrade leads to.
        if isinstance(each, dict) and not (rank is Rank.FILE and each.get("kind") == DEFINITION):
            yield _source(RuleSource(place, rank, each, about=about, created=created))
        elif each is not None:
            yield RuleSource(
                place, rank, problem=f"{place} holds no mapping: write `kind: …`", about=about, created=created
            )


def _source(found: RuleSource) -> RuleSource:
    if not found.tree.get(FIELD):
        return found
    try:
        return structs.replace(found, tree=expanded(found.tree), is_built_in=True)
    except RulesRejected as error:
        return structs.replace(found, problem=f"{found.place}: {error}")
