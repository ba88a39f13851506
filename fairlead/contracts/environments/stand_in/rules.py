"""How a stand-in environmentd behaves: what its annotations say, and its status as a pure function of facts.

Annotations, usually from the template, may change while the pod lives. Durations are Go's; what cannot be read counts
as absent.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from kubeloop.durations import parse_go

PREFIX = "fairlead.dev/environmentd-"

CATCH_UP = f"{PREFIX}catch-up"
"""A duration: from the start until it is ready to be promoted. `never`: only when it is told to skip it."""

BOOT = f"{PREFIX}boot"
"""A duration: from the start until it accepts to skip catching up."""

PROMOTE_TAKES = f"{PREFIX}promote-takes"
"""A duration: from the call until it leads. `never`: it stays at it."""

PASSWORD = f"{PREFIX}password"
"""What mz_system signs in with; without it anything will do, and no session is asked for."""

FAIL = f"{PREFIX}fail"
"""What goes wrong, separated by commas; see `Faults`."""

INITIALIZING, READY, PROMOTING, LEADER = "Initializing", "ReadyToPromote", "Promoting", "IsLeader"

NEVER = float("inf")


class Faults(Struct, frozen=True):
    """What the annotation `fail` asks for, word by word.

    `login=401`, `status=500`, `skip-catchup=404`, `promote=500`: that call is answered with this status, and nothing
    else comes of it; `promote=lost`: it is carried out and the connection breaks before the answer. `slow=3s`: every
    answer takes so long. `restart-on-promote`: the process ends when it is told to take over, and takes over when it is
    back. `lie`: it says that it takes over, and does not.
    """

    answers: dict[str, str] = {}
    slow: float = 0.0
    restarts: bool = False
    lies: bool = False


class StandInSettings(Struct, frozen=True):
    """What the annotations of one pod say, in seconds."""

    catch_up: float
    promote_takes: float
    boot: float = 0.0
    password: str = ""
    faults: Faults = Faults()


class StatusFacts(Struct, frozen=True):
    """What a status follows from: moments of the loop's clock, and who leads."""

    generation: int
    started: float
    leader: int | None = None
    skipped: bool = False
    told: float | None = None
    """When this generation was told to take over."""


class LeaderState(Struct, frozen=True):
    """The status, and when it changes by itself; None: only with something else."""

    status: str
    until: float | None = None


def settings_of(annotations: Mapping[str, str], defaults: StandInSettings) -> StandInSettings:
    """Never fails: what cannot be read counts as absent."""
    return StandInSettings(
        catch_up=_seconds(annotations.get(CATCH_UP, ""), defaults.catch_up),
        promote_takes=_seconds(annotations.get(PROMOTE_TAKES, ""), defaults.promote_takes),
        boot=_seconds(annotations.get(BOOT, ""), defaults.boot),
        password=annotations.get(PASSWORD, defaults.password),
        faults=_faults(annotations.get(FAIL, "")),
    )


def _faults(text: str) -> Faults:
    words = [word.strip() for word in text.split(",")]
    pairs = dict(word.split("=", 1) for word in words if "=" in word)
    slow = _seconds(pairs.pop("slow", ""), 0.0)
    return Faults(pairs, slow, "restart-on-promote" in words, "lie" in words)


def _seconds(text: str, otherwise: float) -> float:
    if text == "never":
        return NEVER
    try:
        return max(parse_go(text), 0.0)
    except ValueError:
        return otherwise


def standing(settings: StandInSettings, facts: StatusFacts, now: float) -> LeaderState | None:
    """What a generation is at; None when it is fenced, because a later one leads."""
    if facts.leader is not None and facts.leader > facts.generation:
        return None
    if facts.leader == facts.generation:
        return LeaderState(LEADER)
    if facts.told is not None:
        leads = facts.told + settings.promote_takes
        return LeaderState(LEADER) if now >= leads else LeaderState(PROMOTING, leads)
    ready = facts.started + settings.catch_up
    if facts.skipped or now >= ready:
        return LeaderState(READY)
    return LeaderState(INITIALIZING, ready)
