"""The embedded cluster: how many changes of pods it takes in a second and what it holds.

    python -m bench.sim [--quick]

Everything runs in processes of its own. Rates are changes of pods per second of CPU, in virtual time.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence

import msgspec

from bench import loaded, reviewed, turnover, zones_within
from bench.table import Check, machine, markdown

SEED = 1
RATES = {10_000: 10_000.0, 100_000: 7_000.0}
"""Least changes of pods per second, by pods."""
OPERATED_RATE = 1_200.0
"""The same with the zones operator deciding."""
IDLE_CPU = 1.0
"""Most seconds of CPU for twelve virtual hours in which nothing happens."""
MEGABYTES = 800.0
REVIEWED, ROUNDS = 500, 15
"""Pods that are made per run with and without a webhook, and runs."""
SURPLUS = 0.03
"""What a webhook about another kind may add to what a pod costs."""
LOADED, LOAD_SECONDS, FORK_MILLISECONDS = 20_000, 3.0, 10.0
"""Pods of a copy, and how long it may take to load it and to fork it."""
QUICK = 1_000


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.sim", description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small cases, to see that everything runs")
    parser.add_argument("--turnover", type=int, metavar="PODS", help="one run, its figures as JSON")
    parser.add_argument("--digest", action="store_true", help="with --turnover: tell the digest of all writes as well")
    parser.add_argument("--reviewed", type=int, metavar="ROUNDS", help="pods with and without webhooks, as JSON")
    parser.add_argument("--loaded", type=int, metavar="PODS", help="a copy that is loaded and forked, as JSON")
    parser.add_argument("--zones", type=int, metavar="GROUPS", help="one run with the operator, its figures as JSON")
    wishes = parser.parse_args(arguments)
    if wishes.turnover:
        print(msgspec.json.encode(turnover.run(wishes.turnover, SEED, digested=wishes.digest)).decode())
        return 0
    if wishes.reviewed:
        print(msgspec.json.encode(reviewed.run(REVIEWED, SEED, wishes.reviewed)).decode())
        return 0
    if wishes.loaded:
        print(msgspec.json.encode(loaded.run(wishes.loaded)).decode())
        return 0
    if wishes.zones:
        print(msgspec.json.encode(zones_within.run(wishes.zones, SEED)).decode())
        return 0
    return _all(quick=wishes.quick)


def _all(*, quick: bool) -> int:
    sizes = (QUICK,) if quick else tuple(RATES)
    turned = [_turned(pods) for pods in sizes]
    operated = msgspec.json.decode(_own("--zones", "3" if quick else "30"), type=zones_within.Figures)
    asked = msgspec.json.decode(_own("--reviewed", "1" if quick else str(ROUNDS)), type=reviewed.Figures)
    copied = msgspec.json.decode(_own("--loaded", str(QUICK if quick else LOADED)), type=loaded.Figures)
    twice = [_turned(QUICK, "--digest", hash_seed=seed).digest for seed in ("1", "2")]
    checks = [check for figures in turned for check in _checks(figures)]
    rate = operated.rate
    checks += [
        Check(
            f"changes of pods per second, {operated.pods} pods, zones operator deciding",
            f"{rate:,.0f}",
            f"≥ {OPERATED_RATE:,.0f}",
            rate >= OPERATED_RATE,
        ),
        Check(
            "what a pod costs more with a webhook about another kind",
            f"{asked.surplus:+.1%}",
            f"≤ {SURPLUS:.0%}",
            asked.surplus <= SURPLUS,
        ),
        *_copied(copied),
        Check(
            f"twelve idle hours with the zones operator and {operated.pods} pods",
            f"{operated.idle_cpu:.2f} s, {operated.idle_requests} requests",
            f"≤ {IDLE_CPU:g} s",
            operated.idle_cpu <= IDLE_CPU,
        ),
        Check("pods out beyond a budget meanwhile", str(operated.violations), "0", operated.violations == 0),
        Check(
            "digest of all writes, same seed, two processes",
            "equal" if twice[0] == twice[1] else "different",
            "equal",
            twice[0] == twice[1],
        ),
    ]
    columns = (
        *("pods", "changes when made", "per s", "memory"),
        *("changes when replaced", "per s", "virtual time", "memory then"),
    )
    rows = [
        (
            f"{each.pods:,}",
            f"{each.made_events:,}",
            f"{each.made_rate:,.0f}",
            f"{each.held:.0f} MB",
            f"{each.rolled_events:,}",
            f"{each.rolled_rate:,.0f}",
            f"{each.virtual_seconds:.1f} s",
            f"{each.resident:.0f} MB",
        )
        for each in turned
    ]
    print(machine(), markdown(columns, rows), sep="\n\n")
    costs = [(f"{asked.pods:,}", f"{asked.none:,.0f} µs", f"{asked.other:,.0f} µs", f"{asked.own:,.0f} µs")]
    print("\n" + markdown(("pods", "CPU per pod made", "with a webhook about another kind", "about pods"), costs))
    verdicts = [(check.what, check.figure, check.budget, check.word) for check in checks]
    print("\n" + markdown(("what", "figure", "budget", ""), verdicts))
    return 0 if all(check.ok for check in checks) or quick else 1


def _checks(figures: turnover.Figures) -> list[Check]:
    pods = f"{figures.pods:,} pods"
    least = RATES.get(figures.pods, 0.0)
    rate = figures.rolled_rate
    found = [Check(f"changes of pods per second, {pods}", f"{rate:,.0f}", f"≥ {least:,.0f}", rate >= least)]
    if figures.pods == max(RATES):
        held = figures.held
        found.append(Check(f"memory with {pods}", f"{held:.0f} MB", f"≤ {MEGABYTES:.0f} MB", held <= MEGABYTES))
    return found


def _copied(figures: loaded.Figures) -> list[Check]:
    of, forked = f"of {figures.pods:,} pods", figures.forked * 1000
    return [
        Check(
            f"a copy {of} is loaded ({figures.megabytes:.0f} MB of lists)",
            f"{figures.loaded:.2f} s",
            f"≤ {LOAD_SECONDS:.0f} s",
            figures.loaded <= LOAD_SECONDS,
        ),
        Check(
            f"a copy {of} is forked (a new cluster without it: {figures.bare * 1000:.1f} ms)",
            f"{forked:.1f} ms",
            f"≤ {FORK_MILLISECONDS:.0f} ms",
            forked <= FORK_MILLISECONDS,
        ),
        Check(f"writes of a copy {of} in 90 minutes", str(figures.writes), "0", figures.writes == 0),
    ]


def _turned(pods: int, *wishes: str, hash_seed: str = "0") -> turnover.Figures:
    return msgspec.json.decode(_own("--turnover", str(pods), *wishes, hash_seed=hash_seed), type=turnover.Figures)


def _own(*arguments: str, hash_seed: str = "0") -> bytes:
    """What a run of this program in a process of its own prints."""
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    command = [sys.executable, "-m", "bench.sim", *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment).stdout


if __name__ == "__main__":
    raise SystemExit(main())
