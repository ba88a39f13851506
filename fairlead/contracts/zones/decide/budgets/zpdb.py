"""Section 6.2: a ZoneAwarePodDisruptionBudget, checked and ready for use.

There is one reading of the object, so that the webhook refuses exactly what the operator would not put in force.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TypeVar

import msgspec
from msgspec import Struct

from fairlead.contracts.zones.configuration_kinds import ZPDBS, ConfigurationMeta
from fairlead.contracts.zones.decide.admission.review_reading import ReviewSnapshot
from fairlead.contracts.zones.decide.budgets.partitions import Expression, compiled, partition
from fairlead.contracts.zones.decide.configurations import InvalidConfiguration
from fairlead.core.decision import Admit
from fairlead.core.rounding import Rounding, scaled
from fairlead.core.times import parse_rfc3339
from kubeloop.durations import parse_go
from kubeloop.objects.apps import StatefulSet
from kubeloop.unreadable import UNREADABLE

T = TypeVar("T")

NAMES = {bool: "a boolean", int: "an integer", str: "a string", dict: "an object", list: "a list", float: "a fraction"}


class DisruptionBudget(Struct, frozen=True):
    """A valid budget."""

    namespace: str
    name: str
    uid: str
    generation: int
    labels: dict[str, str]
    """What a pod must have to be in scope, and a StatefulSet to be one of the zones."""
    max_unavailable: int = 0
    percentage: int = 0
    regex: str = ""
    """Empty in zone mode."""
    regex_group: int = 1
    delay: float = 0.0
    """Seconds for which a pod must have been ready before a peer of its partition may go."""

    @property
    def is_partitioned(self) -> bool:
        return bool(self.regex)

    @property
    def selector(self) -> str:
        """As the API takes it."""
        return ",".join(f"{key}={value}" for key, value in sorted(self.labels.items()))

    @property
    def record(self) -> str:
        """Where the evictions that this budget let pass are recorded."""
        return f"evictions/{self.namespace}/{self.name}"

    def selects(self, labels: dict[str, str]) -> bool:
        return all(labels.get(key) == value for key, value in self.labels.items())

    def limit(self, zone: StatefulSet) -> int:
        """The effective maximum for a pod of this zone.

        A percentage is of the smaller of what is asked for and what the status knows: 70 % of min(10, 8) = 8 is 5.6
        and thus 5; 10 % of 3 is 0 and thus 1; of 0 pods it is 0.
        """
        if self.max_unavailable > 0:
            return self.max_unavailable
        pods = min(zone.spec.replicas, zone.status.replicas)
        return max(1, scaled(self.percentage, pods, Rounding.DOWN)) if self.percentage > 0 and pods > 0 else 0

    def partition_of(self, pod: str) -> str:
        """Empty for a name that is in no partition."""
        return partition(compiled(self.regex), self.regex_group, pod) if self.regex else ""

    def ripe_at(self, ready_time: str | None) -> datetime | None:
        """After which moment a pod that is ready since then counts as ready; None when that cannot be told."""
        if ready_time is None:
            return None
        try:
            return parse_rfc3339(ready_time) + timedelta(seconds=self.delay)
        except (ValueError, OverflowError):
            return None


def guard_of(metadata: ConfigurationMeta, spec: object) -> DisruptionBudget:
    """The budget in force; raises InvalidConfiguration with the first rule that is broken."""
    fields = _typed(spec, dict[str, object], "spec")
    if fields is None:
        raise InvalidConfiguration("spec: is required")
    labels = _labels(fields)
    number, percentage = _numbers(fields)
    regex = _typed(fields.get("podNamePartitionRegex"), str, "spec.podNamePartitionRegex") or ""
    group = _integer(fields, "podNameRegexGroup", least=1)
    if regex:
        group = _group(_expression(regex), group)
        if percentage:
            raise InvalidConfiguration("spec.maxUnavailablePercentage: cannot be used with podNamePartitionRegex")
    return DisruptionBudget(
        metadata.namespace,
        metadata.name,
        metadata.uid,
        metadata.generation,
        labels,
        max_unavailable=1 if number is None and percentage is None else number or 0,
        percentage=percentage or 0,
        regex=regex,
        regex_group=group or 1,
        delay=_delay(fields, regex),
    )


def _typed(value: object, kind: type[T], field: str) -> T | None:
    """None stays None, as if the field were not there."""
    if value is None:
        return None
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        wanted = NAMES[getattr(kind, "__origin__", kind)]
        raise InvalidConfiguration(
            f"{field}: must be {wanted}, not {NAMES.get(type(value), 'something else')}"
        ) from None


def _labels(fields: dict[str, object]) -> dict[str, str]:
    selector = _typed(fields.get("selector"), dict[str, object], "spec.selector")
    if selector is None:
        raise InvalidConfiguration("spec.selector: is required")
    if selector.get("matchExpressions"):
        raise InvalidConfiguration("spec.selector.matchExpressions: is not supported, use matchLabels")
    labels = _typed(selector.get("matchLabels"), dict[str, object], "spec.selector.matchLabels")
    if labels is None:
        raise InvalidConfiguration("spec.selector.matchLabels: is required")
    made = {key: _typed(value, str, f"spec.selector.matchLabels.{key}") for key, value in labels.items()}
    return {key: value or "" for key, value in made.items()}


def _numbers(fields: dict[str, object]) -> tuple[int | None, int | None]:
    number = _integer(fields, "maxUnavailable", least=0)
    percentage = _integer(fields, "maxUnavailablePercentage", least=0, most=100)
    if number is not None and percentage is not None:
        raise InvalidConfiguration("spec.maxUnavailable: cannot be used together with maxUnavailablePercentage")
    return number, percentage


def _integer(fields: dict[str, object], name: str, *, least: int, most: int | None = None) -> int | None:
    value = fields.get(name)
    if isinstance(value, float | bool):  # a conversion would take 1.0 for 1
        raise InvalidConfiguration(f"spec.{name}: must be an integer, not {NAMES[type(value)]}")
    number = _typed(value, int, f"spec.{name}")
    if number is not None and (number < least or (most is not None and number > most)):
        allowed = f"{least} or more" if most is None else f"from {least} to {most}"
        raise InvalidConfiguration(f"spec.{name}: must be {allowed}, not {number}")
    return number


def _expression(regex: str) -> Expression:
    try:
        expression = compiled(regex)
    except ValueError as error:
        raise InvalidConfiguration(f"spec.podNamePartitionRegex: is not an expression in RE2 syntax: {error}") from None
    if expression.groups < 1:
        raise InvalidConfiguration(
            "spec.podNamePartitionRegex: must have a group (in parentheses) that takes the partition"
        )
    return expression


def _group(expression: Expression, group: int | None) -> int:
    if group is None and expression.groups > 1:
        raise InvalidConfiguration(
            f"spec.podNameRegexGroup: must be set, as the expression has {expression.groups} groups"
        )
    if group is not None and group > expression.groups:
        raise InvalidConfiguration(
            f"spec.podNameRegexGroup: must be at most {expression.groups}, the number of groups, not {group}"
        )
    return group or 1


def _delay(fields: dict[str, object], regex: str) -> float:
    text = _typed(fields.get("crossZoneEvictionDelay"), str, "spec.crossZoneEvictionDelay")
    if not text:
        return 0.0
    try:
        seconds = parse_go(text)
    except ValueError as error:
        raise InvalidConfiguration(f"spec.crossZoneEvictionDelay: {error}") from None
    if seconds < 0:
        raise InvalidConfiguration(f"spec.crossZoneEvictionDelay: must not be negative, but is {text}")
    if seconds > 0 and not regex:
        raise InvalidConfiguration("spec.crossZoneEvictionDelay: needs podNamePartitionRegex")
    return seconds


class _Given(Struct, frozen=True, rename="camel"):
    api_version: object = None
    kind: object = None
    spec: object = None


def judge(seen: ReviewSnapshot, now: datetime) -> Admit:
    """The zpdb-validation webhook: code 400 and a message that begins with the field, or allowed; nothing is asked."""
    try:
        given = msgspec.json.decode(seen.review.object, type=_Given)
        if (given.api_version, given.kind) != (ZPDBS.api_version, ZPDBS.kind):
            raise InvalidConfiguration(f"kind: must be {ZPDBS.kind} of {ZPDBS.api_version}")
        guard_of(ConfigurationMeta(name=seen.review.name, uid="", resource_version=""), given.spec)
    except InvalidConfiguration as error:
        return _refused(str(error))
    except UNREADABLE:
        return _refused("the object cannot be read: it must be a JSON object")
    return Admit(allowed=True, word="valid")


def _refused(why: str) -> Admit:
    return Admit(allowed=False, word="invalid", code=400, message=why, level="info")
