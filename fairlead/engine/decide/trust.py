"""Which certificate authorities clients are to trust, from the first sight of one to its end, and when a certificate
may follow another.

An authority is published before anything is served under it, and stays for two reload intervals after nothing is: the
replicas read their files at different times, and one that still shows the old certificate must go on being trusted.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TypeAlias

from msgspec import Struct, structs

MOST = 8
"""Authorities in a bundle that holds some which were left: those left first go; what is in use stays."""
INTERVALS_KEPT = 2

Ends: TypeAlias = Mapping[bytes, datetime]
"""PEM of authorities, each with its end."""


class Known(Struct, frozen=True):
    """An authority in the files, behind what is served, or found in a bundle."""

    pem: bytes
    not_after: datetime
    left_at: datetime | None = None
    """Since when nothing here is, or is about to be, served under it; None while something is."""


def bundle(known: tuple[Known, ...], now: datetime, interval: timedelta) -> tuple[Known, ...]:
    """The authorities to trust: those in use, then those left less than two intervals ago, the latest first."""
    used = [each for each in known if each.left_at is None]
    left = sorted(
        (each for each in known if _stays(each, now, interval)), key=lambda each: each.left_at or now, reverse=True
    )
    return (*used, *left[: max(MOST - len(used), 0)])


def next_change(known: tuple[Known, ...], now: datetime, interval: timedelta) -> datetime | None:
    """When the first of them will have been left for long enough; None when none has been left."""
    ends = [_end(each.left_at, interval) for each in known if each.left_at is not None and _stays(each, now, interval)]
    return min(ends, default=None)


def _stays(each: Known, now: datetime, interval: timedelta) -> bool:
    return each.left_at is not None and each.not_after > now and now < _end(each.left_at, interval)


def _moved(moment: datetime | None, by: timedelta) -> datetime | None:
    return None if moment is None else moment + by


def _end(left_at: datetime, interval: timedelta) -> datetime:
    return left_at + INTERVALS_KEPT * interval


class Trust(Struct, frozen=True):
    """What is known of authorities; `interval` lies between two looks at the files."""

    interval: timedelta
    file: Ends = {}
    """In the authority file as last read."""
    behind: Ends = {}
    """Of what is served."""
    left: Mapping[bytes, Known] = {}
    """Seen here or in a definition, and nothing is served under them any more."""
    held: Mapping[str, Ends] = {}
    """In the bundle of each definition that has one."""

    def offered(self, file: Ends, now: datetime) -> Trust:
        """With these in the file, soon behind what is served."""
        return structs.replace(self, file=file).leaving(self.file, now)

    def shown(self, behind: Ends, now: datetime) -> Trust:
        """With these behind what is served from now on."""
        return structs.replace(self, behind=behind).leaving(self.behind, now)

    def seen(self, name: str, held: Ends | None, now: datetime) -> Trust:
        """With these in the bundle of that definition; None: it names no webhook."""
        others = {each: ends for each, ends in self.held.items() if each != name}
        if held is None:
            return structs.replace(self, held=others)
        return structs.replace(self, held={**others, name: held}).leaving(held, now)

    def clock_set(self, by: timedelta) -> Trust:
        """The time of day was set: what was left stays trusted for as long as before."""
        left = {pem: structs.replace(each, left_at=_moved(each.left_at, by)) for pem, each in self.left.items()}
        return structs.replace(self, left=left)

    @property
    def ends(self) -> Ends:
        """Of all authorities that are known here, the file's first."""
        return {**self.file, **{pem: each.not_after for pem, each in self.left.items()}, **self.behind}

    def besides(self, now: datetime) -> tuple[Known, ...]:
        """What must be trusted besides what is in the file."""
        return tuple(each for each in bundle(self._known, now, self.interval) if each.pem not in self.file)

    def next_change(self, now: datetime) -> datetime | None:
        """When another bundle is wanted only because time has passed."""
        return next_change(self._known, now, self.interval)

    @property
    def _used(self) -> Ends:
        return {**self.file, **self.behind}

    @property
    def _known(self) -> tuple[Known, ...]:
        used = self._used
        left = [each for pem, each in self.left.items() if pem not in used]
        return (*(Known(pem, end) for pem, end in used.items()), *left)

    def leaving(self, ends: Ends, now: datetime) -> Trust:
        """Those of them that are in no use have been left, now unless that is known already."""
        used, left = self._used, dict(self.left)
        for pem, end in ends.items():
            if pem in used:
                left.pop(pem, None)
            else:
                left.setdefault(pem, Known(pem, end, now))
        held = {pem for each in self.held.values() for pem in each}
        stays = {each.pem for each in bundle(tuple(left.values()), now, self.interval)}
        return structs.replace(self, left={pem: each for pem, each in left.items() if pem in stays or pem in held})


def is_enough(wanted: Ends, held: Ends, now: datetime) -> bool:
    """Whether a bundle holds what is wanted and nothing else, but for what has expired: that alone is no reason to
    write."""
    surplus = [end for pem, end in held.items() if pem not in wanted]
    return all(pem in held for pem in wanted) and all(end <= now for end in surplus)


class Authority(Struct, frozen=True):
    """An authority in a bundle that replicas write, each for itself."""

    pem: bytes
    subject: bytes
    not_after: datetime


def kept_after(new: tuple[Authority, ...], old: tuple[Authority, ...], now: datetime) -> tuple[Authority, ...]:
    """Of the old ones those that are trusted together with the new: replicas change over one after the other."""
    return tuple(each for each in old if each.not_after > now and each not in new)


def kept_beside(
    ours: tuple[Authority, ...], held: tuple[Authority, ...], now: datetime, *, alone: bool = False
) -> tuple[Authority, ...] | None:
    """Of those held the ones that another replica may still show; None: what is held is right as it is.

    That is what has not expired and has the subject of one of ours. The bundle is right when it has all of ours, so
    replicas that change over at different times do not take each other's authority away. `alone` says that all replicas
    show ours: those of the same subject go, and what somebody else has put there stays.
    """
    subjects = [each.subject for each in ours]
    former = [each for each in held if each not in ours and each.subject in subjects]
    is_right = ours and all(each in held for each in ours) and all(each.not_after > now for each in held)
    if is_right and not (alone and former):
        return None
    others = kept_after(ours, held, now)
    return tuple(each for each in others if (each.subject in subjects) is not alone)


def covers(names: tuple[str, ...], name: str) -> bool:
    """Whether one of a certificate's names is this one; `*.shop.svc` stands for `hook.shop.svc`."""
    return not name or name in names or f"*.{name.partition('.')[2]}" in names


def may_follow(names: tuple[str, ...], served: tuple[str, ...], name: str) -> bool:
    """Whether clients that accept the name of what is served will accept that of a certificate with these names."""
    return covers(names, name) or not covers(served, name)
