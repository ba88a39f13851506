"""Holds the numbers of rollouts over several roles against those of upstream's planner.

    python -m tools.disaggregated_plans

builds upstream's planner, out of the Go module cache, with a program that answers cases, and compares every course of
two roles of up to four replicas and some thousand larger ones, drawn from a seed. A few hundred of them are kept in
`tests/contracts/leaderworker/decide/disaggregated/upstream_plans.json`, so that every run of the tests compares them.
What differs is printed, and ends with 1.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from random import Random

from msgspec.structs import replace

from fairlead.contracts.leaderworker.decide.disaggregated.planner import RoleCounts, next_step
from fairlead.plane.build import Unavailable
from tools.go_types import go
from tools.keeping import keep

ROOT = Path(__file__).parent.parent
RECORD = ROOT / "tests" / "contracts" / "leaderworker" / "decide" / "disaggregated" / "upstream_plans.json"
MODULE = "sigs.k8s.io/lws@v0.9.0"
PLANNER = "pkg/controllers/disaggregatedset/planner.go"
LIMITS = [(0, 1), (0, 2), (1, 0), (1, 1), (2, 0), (2, 1), (5, 3)]
KEPT = 120
LARGER = 5000
Case = tuple[tuple[int, int, int, int], ...]
"""Of every role: old ones in the begin, the target, surge and unavailable."""

ANSWERS = """package main

import (
	"encoding/json"
	"os"
)

func main() {
	var cases [][][4]int
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
		panic(err)
	}
	courses := make([][]UpdateStep, len(cases))
	for number, roles := range cases {
		var before, target RoleReplicaState
		var limits []RollingUpdateConfig
		for _, role := range roles {
			before, target = append(before, role[0]), append(target, role[1])
			limits = append(limits, RollingUpdateConfig{MaxSurge: role[2], MaxUnavailable: role[3]})
		}
		courses[number] = ComputeAllSteps(before, target, limits)
	}
	if err := json.NewEncoder(os.Stdout).Encode(courses); err != nil {
		panic(err)
	}
}
"""


def cases() -> Iterator[Case]:
    """The larger ones first: they are what is kept."""
    chance = Random(32)  # noqa: S311 - a seed makes the same cases every time
    for _ in range(LARGER):
        yield tuple(
            (chance.randint(0, 12), chance.randint(0, 12), *chance.choice(LIMITS)) for _ in range(chance.randint(2, 4))
        )
    few = range(5)
    for (a, b), (c, d), one, other in product(product(few, few), product(few, few), LIMITS[:6], LIMITS[:6]):
        yield (a, c, *one), (b, d, *other)


def course(case: Case) -> list[list[list[int]]]:
    """Old and new replicas of the roles, from the begin to the end, as we plan them."""
    roles = tuple(RoleCounts(before, before, 0, target, *limits) for before, target, *limits in case)
    found = [_numbers(roles)]
    while (step := next_step(roles)) is not None:
        roles = tuple(replace(each, old=o, new=n) for each, o, n in zip(roles, step.old, step.new, strict=True))
        found.append(_numbers(roles))
    return found


def _numbers(roles: Sequence[RoleCounts]) -> list[list[int]]:
    return [[each.old for each in roles], [each.new for each in roles]]


def upstream(several: Sequence[Case]) -> list[list[list[list[int]]]]:
    """The same of upstream's planner."""
    source = Path(json.loads(go("mod", "download", "-json", MODULE))["Dir"]) / PLANNER
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        text = source.read_text(encoding="utf-8").replace("package disaggregatedset", "package main")
        (place / "planner.go").write_text(text, encoding="utf-8")
        (place / "answers.go").write_text(ANSWERS, encoding="utf-8")
        (place / "go.mod").write_text("module plans\n\ngo 1.24\n", encoding="utf-8")
        try:
            done = subprocess.run(
                ["go", "run", "."], cwd=place, input=json.dumps(several), capture_output=True, text=True, check=True
            )
        except (OSError, subprocess.CalledProcessError) as problem:
            raise Unavailable(f"upstream's planner does not run: {problem}") from None
    return [[[each["Past"], each["New"]] for each in steps] for steps in json.loads(done.stdout)]


def differing(several: Sequence[Case], theirs: Iterable[list[list[list[int]]]]) -> Iterator[str]:
    for case, expected in zip(several, theirs, strict=True):
        if (ours := course(case)) != expected:
            yield f"{case}: {ours} instead of {expected}"


def main() -> int:
    several = [*cases()]
    try:
        theirs = upstream(several)
    except Unavailable as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    lines = [
        json.dumps({"roles": a, "course": b}, separators=(",", ":"))
        for a, b in zip(several[:KEPT], theirs[:KEPT], strict=True)
    ]
    keep(RECORD, "[" + ",\n".join(lines) + "]\n")
    found = [*differing(several, theirs)]
    for line in found:
        sys.stdout.write(f"{line}\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
