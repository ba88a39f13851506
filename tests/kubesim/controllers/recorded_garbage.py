"""What kube-controller-manager 1.36.4 made of the scenarios of `recorded_garbage`: per scenario and step its lines.

Written by `python -m tools.traces`. Lines after a question mark are statuses of a moment.
"""

from __future__ import annotations

RECORDED: dict[str, tuple[str, ...]] = {
    "in the background": (
        """thing a free
        thing b of a
        thing c of b""",
        """thing a gone
        thing b gone
        thing c gone""",
    ),
    "in the foreground, dependents first": (
        """thing a free
        thing b of a
        thing c of b""",
        """thing a free foregroundDeletion going
        thing a gone
        thing b of a foregroundDeletion going
        thing b gone
        thing c gone""",
    ),
    "in the foreground, waiting for one that is held": (
        """thing a free
        thing b of a
        thing b of a test/hold""",
        """thing a free foregroundDeletion going
        thing b of a test/hold going""",
        """thing b gone
        thing a gone""",
    ),
    "in the foreground, without those that block nothing": (
        """thing a free
        thing b of a
        thing b of a test/hold""",
        """thing a free foregroundDeletion going
        thing a gone
        thing b of a test/hold going""",
        """thing b gone""",
    ),
    "leaving dependents behind": (
        """thing a free
        thing b of a
        thing c of b""",
        """thing a free orphan going
        thing a gone
        thing b free""",
        """thing b gone
        thing c gone""",
    ),
    "one owner of two": (
        """thing a free
        thing b free
        thing c of a,b""",
        """thing a gone
        thing c of b""",
        """thing b gone
        thing c gone""",
    ),
    "one owner of two, in the foreground": (
        """thing a free
        thing b free
        thing c of a,b""",
        """thing a free foregroundDeletion going
        thing a gone
        thing c of b""",
        """thing b gone
        thing c gone""",
    ),
    "an owner that is held": (
        """thing a free
        thing a free test/hold
        thing b of a""",
        """thing a free test/hold going""",
        """thing a gone
        thing b gone""",
    ),
    "a rollout, its sets and its pods": (
        """rollout de 1(1) #1 2/2/0/0 -moving
        replicas a 1(0) 2:0/0/0 full 0
        ? replicas a 1(1) 2:0/0/0 full 0
        replicas a 1(1) 2:2/0/0 full 2
        pod de a new
        pod de a new""",
        """rollout de gone
        replicas a 2(1) 2:2/0/0 full 2 going
        ? replicas a 2(2) 2:2/0/0 full 2 going
        ? replicas a 2(2) 2:1/0/0 full 1 going
        ? replicas a 2(2) 2:0/0/0 full 0 going
        replicas a gone
        pod de a going gone
        pod de a going gone""",
    ),
}
