"""Which pods a downscale removes, and how they are told to prepare for it.

Section 2.10, and section 3.11 steps 5 to 7 and 11.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from urllib.parse import quote

from msgspec import Struct, structs

from fairlead.contracts.zones.decide.addresses import pod_host, unaddressable
from fairlead.contracts.zones.decide.admission.review_reading import Downscale, ReviewSnapshot
from fairlead.contracts.zones.kinds import PREPARE_PATH, PREPARE_PORT
from fairlead.contracts.zones.settings import Settings
from fairlead.core.ask import Answers, Ask, Bad, Http
from fairlead.core.integers import parse_integer
from kubeloop.objects.apps import StatefulSet

MOST_PODS = 10_000
"""How many pods one downscale may remove; a StatefulSet may have two thousand million replicas."""

AT_ONCE = 32
"""How many pods are called at a time."""

MOST_NAMED = 3
"""How many pods a message names."""


class Preparation(Struct, frozen=True):
    """The calls that a downscale makes to every pod it removes."""

    ordinals: tuple[int, ...] = ()
    pods: tuple[str, ...] = ()
    posts: tuple[Ask, ...] = ()
    undo: tuple[Ask, ...] = ()

    def length(self, settings: Settings) -> timedelta:
        """How long it takes at most from the request to the end of undoing: a request, and a call per batch."""
        batches = -(-len(self.pods) // AT_ONCE)
        return timedelta(seconds=settings.request_timeout + (batches + 1) * settings.pods_timeout)

    def failures(self, answers: Answers) -> str:
        """Which pods did not prepare and why, empty when all did."""
        pairs = zip(self.pods, (answers[post] for post in self.posts), strict=True)
        bad = [(pod, answer) for pod, answer in pairs if isinstance(answer, Bad)]
        tried = [f"{pod}: {answer.text or answer.kind}" for pod, answer in bad if answer.kind != "not-sent"]
        more = [f"{len(tried) - MOST_NAMED} more"] if len(tried) > MOST_NAMED else []
        return "; ".join([*tried[:MOST_NAMED], *more]) or ("no pod was asked" if bad else "")


class PreparationRefusal(Struct, frozen=True):
    """Why there can be no preparation."""

    word: str
    text: str


def uncallable(zone: StatefulSet) -> PreparationRefusal | None:
    """Why its pods cannot be called; None when they can."""
    annotations = zone.metadata.annotations
    port, path = annotations.get(PREPARE_PORT, "").strip(), annotations.get(PREPARE_PATH, "").strip()
    if not port:
        return PreparationRefusal(
            "port-missing", f"annotation {PREPARE_PORT} is missing; set it to the port of its pods"
        )
    if not is_port(port):
        return PreparationRefusal("port-invalid", f"annotation {PREPARE_PORT} must be a port from 1 to 65535")
    if not path:
        return PreparationRefusal(
            "path-missing", f"annotation {PREPARE_PATH} is missing; set it to the path that its pods serve"
        )
    if problem := unaddressable(zone):
        return PreparationRefusal("name-invalid" if zone.spec.service_name else "service-missing", problem)
    return None


def refusal_of(zone: StatefulSet, change: Downscale, start: int) -> PreparationRefusal | None:
    """Why a zone whose ordinals begin at `start` after the change cannot be prepared for it; None when it can."""
    if refusal := uncallable(zone):
        return refusal
    if change.new < 0:
        return PreparationRefusal("replicas-negative", "the number of replicas cannot be negative")
    if sum(each.stop - each.start for each in removed_of(zone.spec.ordinals.start, change, start)) > MOST_PODS:
        return PreparationRefusal(
            "too-many-pods", f"at most {MOST_PODS} pods are removed at once; do it in several steps"
        )
    return None


def preparation_of(
    zone: StatefulSet, change: Downscale, start: int, seen: ReviewSnapshot
) -> Preparation | PreparationRefusal:
    """For the zone as it is: whatever a review says it had before, no pod is called that it does not have.

    The request's UID is the subject of every call: an answer given in another request is never taken for this one's.
    """
    change = structs.replace(change, old=zone.spec.replicas)
    if refusal := refusal_of(zone, change, start):
        return refusal
    removed = removed_of(zone.spec.ordinals.start, change, start)
    return calls_to(zone, [ordinal for each in removed for ordinal in each], seen.settings, seen.review.uid)


def calls_to(zone: StatefulSet, ordinals: Sequence[int], settings: Settings, request: str) -> Preparation:
    """The calls to these pods of a zone that can be prepared."""
    annotations = zone.metadata.annotations
    port, path = annotations[PREPARE_PORT].strip(), normal_path(annotations[PREPARE_PATH].strip())
    urls = [f"http://{pod_host(zone, ordinal, settings)}:{port}{path}" for ordinal in ordinals]
    return Preparation(
        ordinals=tuple(ordinals),
        pods=tuple(f"{zone.metadata.name}-{ordinal}" for ordinal in ordinals),
        posts=calls("POST", urls, settings, request),
        undo=calls("DELETE", urls, settings, request),
    )


def calls(method: str, urls: Iterable[str], settings: Settings, request: str) -> tuple[Ask, ...]:
    return tuple(Ask(Http(method, url, subject=request), effect=True, timeout=settings.pods_timeout) for url in urls)


def removed_of(first: int, change: Downscale, start: int) -> tuple[range, ...]:
    """Ordinals that the zone has, from `first` on, and has no more when they begin at `start` (H-5).

    Usually the topmost: 5 replicas from 0 on become 3, so 3 and 4 go. With another start the lowest may go as well:
    0 to 4 become 3 replicas from 1 on, which are 1 to 3, so 0 and 4 go.
    """
    end = first + change.old
    below, above = range(first, min(start, end)), range(max(start + change.new, first), end)
    return tuple(each for each in (below, above) if each)


def is_port(text: str) -> bool:
    try:
        return 1 <= parse_integer(text) <= 65535 and text.isdigit()
    except ValueError:
        return False


def normal_path(text: str) -> str:
    """U-3: exactly one leading slash, without empty segments and dots; a slash at the end and a query stay.

    `ingester//./prepare-downscale/?force=1` is `/ingester/prepare-downscale/?force=1`.
    """
    path, mark, query = text.partition("#")[0].partition("?")
    segments: list[str] = []
    for segment in path.split("/"):
        if segment == "..":
            del segments[-1:]
        elif segment not in ("", "."):
            segments.append(quote(segment, safe=_KEPT))
    end = "/" if segments and path.endswith("/") else ""
    return f"/{'/'.join(segments)}{end}{mark}{quote(query, safe=_KEPT + '/?')}"


_KEPT = "%!$&'()*+,;=:@~"
"""Stand as they are in a URL; escapes that the author made stay as well."""
