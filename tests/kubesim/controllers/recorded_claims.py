"""What kube-controller-manager 1.36.4 made of the scenarios of `recorded_claims`: per scenario and step its lines.

Written by `python -m tools.traces`. Lines after a question mark are statuses of a moment.
"""

from __future__ import annotations

RECORDED: dict[str, tuple[str, ...]] = {
    "claims that stay": (
        """ordered st 1(0) 0/0/0 -:0 -:0
        ordered st 1(1) 0/0/0 a:0 a:0
        ordered st 1(1) 1/0/0 a:1 a:1
        revision a #1
        claim data-st-0 free
        pod st-0 a new""",
        """claim data-st-1 free
        ordered st 1(1) 1/1/1 a:1 a:1
        ordered st 1(1) 2/1/1 a:2 a:2
        pod st-0 a ready
        pod st-1 a new""",
        """ordered st 1(1) 2/2/2 a:2 a:2
        pod st-1 a ready""",
        """ordered st 2(1) 2/2/2 a:2 a:2
        ordered st 2(2) 2/2/2 a:2 a:2
        ordered st 2(2) 1/1/1 a:1 a:1
        pod st-1 a going gone""",
        """ordered st 3(2) 1/1/1 a:1 a:1
        ordered st 3(3) 1/1/1 a:1 a:1
        ordered st 3(3) 2/1/1 a:2 a:2
        pod st-1 a new""",
        """ordered st gone
        revision a gone
        pod st-0 a going gone
        pod st-1 a going gone""",
    ),
    "claims that go with the set": (
        """ordered st 1(0) 0/0/0 -:0 -:0
        ordered st 1(1) 0/0/0 a:0 a:0
        ordered st 1(1) 2/0/0 a:2 a:2
        revision a #1
        claim data-st-0 free
        claim data-st-0 of st
        claim data-st-1 free
        claim data-st-1 of st
        pod st-0 a new
        pod st-1 a new""",
        """ordered st 1(1) 2/1/1 a:2 a:2
        ordered st 1(1) 2/2/2 a:2 a:2
        pod st-0 a ready
        pod st-1 a ready""",
        """ordered st 2(1) 2/2/2 a:2 a:2
        ordered st 2(2) 2/2/2 a:2 a:2
        ordered st 2(2) 1/1/1 a:1 a:1
        pod st-1 a going gone""",
        """ordered st 3(2) 1/1/1 a:1 a:1
        ordered st 3(3) 1/1/1 a:0 b:0
        ordered st 3(3) 0/0/0 a:0 b:0
        ordered st 3(3) 1/0/0 a:0 b:1
        revision b #2
        pod st-0 a going gone new""",
        """ordered st 3(3) 1/1/1 b:1 b:1
        pod st-0 b ready""",
        """ordered st gone
        revision a gone
        revision b gone
        claim data-st-0 of st going
        claim data-st-0 gone
        claim data-st-1 of st going
        claim data-st-1 gone
        pod st-0 b going gone""",
    ),
    "claims that go with their place": (
        """ordered st 1(0) 0/0/0 -:0 -:0
        ordered st 1(1) 0/0/0 a:0 a:0
        ordered st 1(1) 2/0/0 a:2 a:2
        revision a #1
        claim data-st-0 free
        claim data-st-1 free
        pod st-0 a new
        pod st-1 a new""",
        """ordered st 1(1) 2/1/1 a:2 a:2
        ordered st 1(1) 2/2/2 a:2 a:2
        pod st-0 a ready
        pod st-1 a ready""",
        """ordered st 2(1) 2/2/2 a:2 a:2
        ordered st 2(2) 2/2/2 a:2 a:2
        ordered st 2(2) 1/1/1 a:1 a:1
        claim data-st-1 of st-1
        claim data-st-1 of st-1 going
        claim data-st-1 gone
        pod st-1 a going gone""",
        """ordered st 3(2) 1/1/1 a:1 a:1
        ordered st 3(3) 1/1/1 a:1 a:1
        ordered st 3(3) 2/1/1 a:2 a:2
        claim data-st-1 free
        pod st-1 a new""",
        """ordered st 3(3) 2/2/2 a:2 a:2
        pod st-1 a ready""",
        """ordered st gone
        revision a gone
        pod st-0 a going gone
        pod st-1 a going gone""",
    ),
    "claims that go with either": (
        """ordered st 1(0) 0/0/0 -:0 -:0
        ordered st 1(1) 0/0/0 a:0 a:0
        ordered st 1(1) 1/0/0 a:1 a:1
        revision a #1
        claim data-st-0 free
        claim data-st-0 of st
        pod st-0 a new""",
        """claim data-st-1 free
        claim data-st-1 of st
        ordered st 1(1) 1/1/1 a:1 a:1
        ordered st 1(1) 2/1/1 a:2 a:2
        pod st-0 a ready
        pod st-1 a new""",
        """ordered st 1(1) 2/2/2 a:2 a:2
        pod st-1 a ready""",
        """ordered st 2(1) 2/2/2 a:2 a:2
        ordered st 2(2) 2/2/2 a:2 a:2
        ordered st 2(2) 1/1/1 a:1 a:1
        claim data-st-1 of st-1
        claim data-st-1 of st-1 going
        claim data-st-1 gone
        pod st-1 a going gone""",
        """ordered st gone
        claim data-st-0 of st going
        claim data-st-0 gone
        revision a gone
        pod st-0 a going gone""",
    ),
    "a policy that changes": (
        """ordered st 1(0) 0/0/0 -:0 -:0
        ordered st 1(1) 0/0/0 a:0 a:0
        ordered st 1(1) 2/0/0 a:2 a:2
        revision a #1
        claim data-st-0 free
        claim data-st-1 free
        pod st-0 a new
        pod st-1 a new""",
        """ordered st 1(1) 2/1/1 a:2 a:2
        ordered st 1(1) 2/2/2 a:2 a:2
        pod st-0 a ready
        pod st-1 a ready""",
        """ordered st 2(1) 2/2/2 a:2 a:2
        ordered st 2(2) 2/2/2 a:2 a:2
        claim data-st-0 of st
        claim data-st-1 of st""",
        """ordered st 3(2) 2/2/2 a:2 a:2
        ordered st 3(3) 2/2/2 a:2 a:2
        claim data-st-0 free
        claim data-st-1 free""",
        """ordered st 4(3) 2/2/2 a:2 a:2
        ordered st 4(4) 2/2/2 a:2 a:2
        ordered st 4(4) 1/1/1 a:1 a:1
        claim data-st-1 of st-1
        claim data-st-1 of st-1 going
        claim data-st-1 gone
        pod st-1 a going gone""",
        """ordered st gone
        revision a gone
        pod st-0 a going gone""",
    ),
    "a claim that is lost while its pod is pending": (
        """ordered st 1(0) 0/0/0 -:0 -:0
        ordered st 1(1) 0/0/0 a:0 a:0
        ordered st 1(1) 1/0/0 a:1 a:1
        revision a #1
        claim data-st-0 free
        pod st-0 a new""",
        """claim data-st-0 free going
        claim data-st-0 gone""",
        """ordered st 2(1) 1/0/0 a:1 a:1
        ordered st 2(2) 1/0/0 a:1 a:1
        ordered st 2(2) 2/0/0 a:2 a:2
        claim data-st-0 free
        claim data-st-1 free
        pod st-1 a new""",
        """ordered st 2(2) 2/1/1 a:2 a:2
        ordered st 2(2) 2/2/2 a:2 a:2
        pod st-0 a ready
        pod st-1 a ready""",
        """claim data-st-0 free going
        claim data-st-0 gone""",
        """ordered st 3(2) 2/2/2 a:2 a:2
        ordered st 3(3) 2/2/2 a:2 a:2
        ordered st 3(3) 1/1/1 a:1 a:1
        pod st-1 a going gone""",
        """ordered st gone
        revision a gone
        pod st-0 a going gone""",
    ),
    "a pod without a claim that is taken on": (
        """pod st-0 - new orphan""",
        """ordered st 1(0) 0/0/0 -:0 -:0
        ordered st 1(1) 1/0/0 a:0 a:0
        revision a #1
        claim data-st-0 free
        pod st-0 - new""",
        """ordered st gone
        revision a gone
        pod st-0 - going gone""",
    ),
}
