"""What kube-controller-manager 1.36.4 made of the scenarios of `recorded_budgets`: per scenario and step its lines.

Written by `python -m tools.traces`. Lines after a question mark are statuses of a moment.
"""

from __future__ import annotations

RECORDED: dict[str, tuple[str, ...]] = {
    "a number that must be available": (
        """replicas rs 1(0) 2:0/0/0 full 0
        ? replicas rs 1(1) 2:0/0/0 full 0
        replicas rs 1(1) 2:2/0/0 full 2
        pod rs - new
        pod rs - new""",
        """budget pb 1(0) 0 of 0 healthy 0/0
        budget pb 1(1) 0 of 2 healthy 0/1 InsufficientPods""",
        """budget pb 1(1) 0 of 2 healthy 1/1 InsufficientPods
        replicas rs 1(1) 2:2/1/1 full 2
        pod rs - ready""",
        """replicas rs 1(1) 2:2/2/2 full 2
        budget pb 1(1) 1 of 2 healthy 2/1 SufficientPods
        pod rs - ready""",
        """budget pb 1(1) 0 of 2 healthy 2/1 InsufficientPods leaving 1
        ? budget pb 1(1) 0 of 2 healthy 1/1 InsufficientPods leaving 1
        ? budget pb 1(1) 0 of 1 healthy 1/1 InsufficientPods
        budget pb 1(1) 0 of 2 healthy 1/1 InsufficientPods
        replicas rs 1(1) 2:1/1/1 full 1
        replicas rs 1(1) 2:2/1/1 full 2
        answer 201
        pod rs - doomed going gone
        pod rs - new""",
        """answer 429 Cannot evict pod as it would violate the pod's disruption budget.""",
        """budget pb 1(1) 1 of 2 healthy 2/1 SufficientPods
        replicas rs 1(1) 2:2/2/2 full 2
        pod rs - ready""",
        """budget pb gone""",
        """replicas rs gone
        pod rs - going gone
        pod rs - going gone""",
    ),
    "a share of a rollout that may be missing": (
        """rollout de 1(1) #1 3/3/0/0 -moving
        replicas a 1(0) 3:0/0/0 full 0
        ? replicas a 1(1) 3:0/0/0 full 0
        replicas a 1(1) 3:3/0/0 full 3
        pod de a new
        pod de a new
        pod de a new""",
        """budget pb 1(0) 0 of 0 healthy 0/0
        budget pb 1(1) 0 of 3 healthy 0/1 InsufficientPods""",
        """replicas a 1(1) 3:3/1/1 full 3
        replicas a 1(1) 3:3/2/2 full 3
        rollout de 1(1) #1 3/3/2/2 -moving
        budget pb 1(1) 0 of 3 healthy 1/1 InsufficientPods
        budget pb 1(1) 1 of 3 healthy 2/1 SufficientPods
        pod de a ready
        pod de a ready""",
        """budget pb 1(1) 2 of 3 healthy 3/1 SufficientPods
        replicas a 1(1) 3:3/3/3 full 3
        rollout de 1(1) #1 3/3/3/3 +NewReplicaSetAvailable
        pod de a ready""",
        """rollout de 2(2) #1 5/5/3/3 -moving
        replicas a 2(1) 5:3/3/3 full 3
        ? replicas a 2(2) 5:3/3/3 full 3
        replicas a 2(2) 5:5/3/3 full 5
        budget pb 1(1) 0 of 5 healthy 3/3 InsufficientPods
        pod de a new
        pod de a new""",
        """budget pb 1(1) 1 of 5 healthy 4/3 SufficientPods
        budget pb 1(1) 2 of 5 healthy 5/3 SufficientPods
        replicas a 2(2) 5:5/4/4 full 5
        replicas a 2(2) 5:5/5/5 full 5
        rollout de 2(2) #1 5/5/5/5 +NewReplicaSetAvailable
        pod de a ready
        pod de a ready""",
        """budget pb gone""",
        """rollout de gone
        replicas a gone
        pod de a going gone
        pod de a going gone
        pod de a going gone
        pod de a going gone
        pod de a going gone""",
    ),
    "one missing of an ordered set": (
        """ordered st 1(0) 0/0/0 -:0 -:0
        ordered st 1(1) 0/0/0 a:0 a:0
        ordered st 1(1) 2/0/0 a:2 a:2
        revision a #1
        pod st-0 a new
        pod st-1 a new""",
        """budget pb 1(0) 0 of 0 healthy 0/0
        budget pb 1(1) 0 of 2 healthy 0/1 InsufficientPods""",
        """ordered st 1(1) 2/1/1 a:2 a:2
        ordered st 1(1) 2/2/2 a:2 a:2
        budget pb 1(1) 0 of 2 healthy 1/1 InsufficientPods
        budget pb 1(1) 1 of 2 healthy 2/1 SufficientPods
        pod st-0 a ready
        pod st-1 a ready""",
        """budget pb 1(1) 0 of 2 healthy 2/1 InsufficientPods leaving 1
        ? budget pb 1(1) 0 of 2 healthy 1/1 InsufficientPods leaving 1
        budget pb 1(1) 0 of 2 healthy 1/1 InsufficientPods
        ? ordered st 1(1) 2/2/2 a:1 a:1
        ordered st 1(1) 1/1/1 a:1 a:1
        ordered st 1(1) 2/1/1 a:2 a:2
        answer 201
        pod st-0 a doomed going gone new""",
        """answer 429 Cannot evict pod as it would violate the pod's disruption budget.""",
        """budget pb 1(1) 1 of 2 healthy 2/1 SufficientPods
        ordered st 1(1) 2/2/2 a:2 a:2
        pod st-0 a ready""",
        """budget pb gone""",
        """ordered st gone
        revision a gone
        pod st-0 a going gone
        pod st-1 a going gone""",
    ),
    "daemons, which have no scale": (
        """daemons da 1(0) 0:0 ready 0 new 0 up 0
        ? daemons da 1(1) 2:1 ready 0 new 1 up 0
        daemons da 1(1) 2:2 ready 0 new 2 up 0
        revision a #1
        pod da a new
        pod da a new""",
        """daemons da 1(1) 2:2 ready 1 new 2 up 1
        daemons da 1(1) 2:2 ready 2 new 2 up 2
        pod da a ready
        pod da a ready""",
        """budget pb 1(0) 0 of 0 healthy 0/0
        budget pb 1(0) 0 of 0 healthy 0/0 SyncFailed""",
        """answer 429 Cannot evict pod as it would violate the pod's disruption budget. again in 10""",
        """budget pb 2(0) 0 of 0 healthy 0/0 SyncFailed
        budget pb 2(2) 1 of 2 healthy 2/1 SufficientPods""",
        """budget pb 2(2) 0 of 2 healthy 2/1 InsufficientPods leaving 1
        ? budget pb 2(2) 0 of 2 healthy 1/1 InsufficientPods leaving 1
        ? budget pb 2(2) 0 of 2 healthy 1/1 InsufficientPods
        ? budget pb 2(2) 0 of 1 healthy 1/1 InsufficientPods
        ? budget pb 2(2) 0 of 2 healthy 1/1 InsufficientPods
        ? daemons da 1(1) 2:1 ready 1 new 1 up 1
        daemons da 1(1) 2:2 ready 1 new 2 up 1
        answer 201
        pod da a doomed going gone
        pod da a new""",
        """budget pb gone""",
        """daemons da gone
        revision a gone
        pod da a going gone
        pod da a going gone""",
    ),
    "pods that nobody controls": (
        """pod one - new orphan""",
        """pod two - new orphan""",
        """budget pb 1(0) 0 of 0 healthy 0/0
        budget pb 1(1) 0 of 2 healthy 0/1 InsufficientPods""",
        """budget pb 1(1) 0 of 2 healthy 1/1 InsufficientPods
        budget pb 1(1) 1 of 2 healthy 2/1 SufficientPods
        pod one - ready orphan
        pod two - ready orphan""",
        """budget pb 2(1) 1 of 2 healthy 2/1 SufficientPods
        budget pb 2(2) 0 of 0 healthy 2/0 InsufficientPods""",
        """budget pb 3(2) 0 of 0 healthy 2/0 InsufficientPods
        budget pb 3(3) 0 of 2 healthy 2/2 InsufficientPods""",
        """answer 429 Cannot evict pod as it would violate the pod's disruption budget.""",
        """budget pb 4(3) 0 of 2 healthy 2/2 InsufficientPods
        budget pb 4(4) 2 of 2 healthy 2/0 SufficientPods""",
        """budget pb 4(4) 1 of 2 healthy 2/0 SufficientPods leaving 1
        ? budget pb 4(4) 1 of 2 healthy 1/0 SufficientPods leaving 1
        ? budget pb 4(4) 1 of 2 healthy 1/0 SufficientPods
        budget pb 4(4) 1 of 1 healthy 1/0 SufficientPods
        answer 201
        pod one - doomed orphan going orphan gone""",
        """budget pb gone""",
    ),
    "no pods at all": (
        """budget pb 1(0) 0 of 0 healthy 0/0
        budget pb 1(1) 0 of 0 healthy 0/0 InsufficientPods""",
        """budget pb 2(1) 0 of 0 healthy 0/0 InsufficientPods
        budget pb 2(2) 0 of 0 healthy 0/2 InsufficientPods""",
        """budget pb gone""",
    ),
    "pods that are not ready": (
        """replicas rs 1(0) 2:0/0/0 full 0
        ? replicas rs 1(1) 2:0/0/0 full 0
        replicas rs 1(1) 2:2/0/0 full 2
        pod rs - new
        pod rs - new""",
        """replicas rs 1(1) 2:2/1/1 full 2
        replicas rs 1(1) 2:2/2/2 full 2
        pod rs - ready
        pod rs - ready""",
        """budget pb 1(0) 0 of 0 healthy 0/0
        budget pb 1(1) 0 of 2 healthy 2/2 InsufficientPods""",
        """budget pb 1(1) 0 of 2 healthy 1/2 InsufficientPods
        replicas rs 1(1) 2:2/1/1 full 2
        pod rs - new""",
        """answer 429 Cannot evict pod as it would violate the pod's disruption budget.""",
        """budget pb 2(1) 0 of 2 healthy 1/2 InsufficientPods
        budget pb 2(2) 0 of 2 healthy 1/2 InsufficientPods""",
        """? budget pb 2(2) 0 of 1 healthy 1/2 InsufficientPods
        ? budget pb 2(2) 0 of 3 healthy 1/2 InsufficientPods
        ? budget pb 2(2) 0 of 2 healthy 1/2 InsufficientPods
        replicas rs 1(1) 2:1/1/1 full 1
        replicas rs 1(1) 2:2/1/1 full 2
        answer 201
        pod rs - doomed going gone
        pod rs - new""",
        """budget pb gone""",
        """replicas rs gone
        pod rs - going gone
        pod rs - going gone""",
    ),
    "two budgets for one pod": (
        """pod one - new orphan""",
        """pod one - ready orphan""",
        """budget pb 1(0) 0 of 0 healthy 0/0
        budget pb 1(1) 1 of 1 healthy 1/0 SufficientPods
        budget second 1(0) 0 of 0 healthy 0/0
        budget second 1(1) 1 of 1 healthy 1/0 SufficientPods""",
        """answer 500 This pod has more than one PodDisruptionBudget, which the eviction sub""",
        """budget pb gone""",
    ),
    "an evicted pod that takes its time": (
        """replicas rs 1(0) 2:0/0/0 full 0
        ? replicas rs 1(1) 2:0/0/0 full 0
        replicas rs 1(1) 2:2/0/0 full 2
        pod rs - new
        pod rs - new""",
        """replicas rs 1(1) 2:2/1/1 full 2
        replicas rs 1(1) 2:2/2/2 full 2
        pod rs - ready
        pod rs - ready""",
        """budget pb 1(0) 0 of 0 healthy 0/0
        budget pb 1(1) 1 of 2 healthy 2/1 SufficientPods""",
        """budget pb 1(1) 0 of 2 healthy 2/1 InsufficientPods leaving 1
        ? budget pb 1(1) 0 of 2 healthy 1/1 InsufficientPods leaving 1
        budget pb 1(1) 0 of 2 healthy 1/1 InsufficientPods
        replicas rs 1(1) 2:1/1/1 full 1
        replicas rs 1(1) 2:2/1/1 full 2
        answer 201
        pod rs - doomed going
        pod rs - new""",
        """pod rs - gone""",
        """budget pb 1(1) 1 of 2 healthy 2/1 SufficientPods
        replicas rs 1(1) 2:2/2/2 full 2
        pod rs - ready""",
        """budget pb gone""",
        """replicas rs 2(1) 2:2/2/2 full 2 going
        ? replicas rs 2(2) 2:2/2/2 full 2 going
        ? replicas rs 2(2) 2:1/1/1 full 1 going
        ? replicas rs 2(2) 2:0/0/0 full 0 going
        replicas rs gone
        pod rs - ready orphan
        pod rs - ready orphan""",
    ),
    "pods of a set that rolls": (
        """rollout de 1(1) #1 2/2/0/0 -moving
        replicas a 1(0) 2:0/0/0 full 0
        ? replicas a 1(1) 2:0/0/0 full 0
        replicas a 1(1) 2:2/0/0 full 2
        pod de a new
        pod de a new""",
        """replicas a 1(1) 2:2/1/1 full 2
        replicas a 1(1) 2:2/2/2 full 2
        rollout de 1(1) #1 2/2/2/2 +NewReplicaSetAvailable
        pod de a ready
        pod de a ready""",
        """budget pb 1(0) 0 of 0 healthy 0/0
        budget pb 1(1) 1 of 2 healthy 2/1 SufficientPods""",
        """? rollout de 2(2) #2 3/1/2/2 +moving
        ? rollout de 2(2) #2 3/1/2/2 +moving
        replicas b 1(0) 1:0/0/0 full 0
        ? replicas b 1(1) 1:0/0/0 full 0
        replicas b 1(1) 1:1/0/0 full 1
        pod de b new""",
        """budget pb 1(1) 2 of 2 healthy 3/1 SufficientPods
        budget pb 1(1) 1 of 2 healthy 2/1 SufficientPods
        replicas b 1(1) 1:1/1/1 full 1
        ? replicas b 2(1) 2:1/1/1 full 1
        ? replicas b 2(2) 2:1/1/1 full 1
        replicas b 2(2) 2:2/1/1 full 2
        replicas a 2(1) 1:2/2/2 full 2
        ? replicas a 2(2) 1:2/2/2 full 2
        replicas a 2(2) 1:1/1/1 full 1
        rollout de 2(2) #2 3/2/2/2 +moving
        pod de a going gone
        pod de b new
        pod de b ready""",
        """budget pb 1(1) 2 of 2 healthy 3/1 SufficientPods
        budget pb 1(1) 1 of 2 healthy 2/1 SufficientPods
        replicas b 2(2) 2:2/2/2 full 2
        replicas a 3(2) 0:1/1/1 full 1
        ? replicas a 3(3) 0:1/1/1 full 1
        replicas a 3(3) 0:0/0/0 full 0
        rollout de 2(2) #2 2/2/2/2 +NewReplicaSetAvailable
        pod de a going gone
        pod de b ready""",
        """budget pb gone""",
        """rollout de gone
        replicas a gone
        replicas b gone
        pod de b going gone
        pod de b going gone""",
    ),
}
