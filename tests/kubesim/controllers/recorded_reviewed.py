"""What kube-controller-manager 1.36.4 made of the scenarios of `recorded_reviewed`: per scenario and step its lines.

Written by `python -m tools.traces`. Lines after a question mark are statuses of a moment.
"""

from __future__ import annotations

RECORDED: dict[str, tuple[str, ...]] = {
    "a set whose pods are labelled": (
        """""",
        """replicas rs 1(0) 3:0/0/0 full 0
        ? replicas rs 1(1) 3:0/0/0 full 0
        replicas rs 1(1) 3:3/0/0 full 3
        pod rs=7 - new
        pod rs=7 - new
        pod rs=7 - new""",
        """replicas rs 1(1) 3:3/1/1 full 3
        ? replicas rs 1(1) 3:3/2/2 full 3
        replicas rs 1(1) 3:3/3/3 full 3
        pod rs=7 - ready
        pod rs=7 - ready
        pod rs=7 - ready""",
        """replicas rs 2(1) 1:3/3/3 full 3
        ? replicas rs 2(2) 1:3/3/3 full 3
        replicas rs 2(2) 1:1/1/1 full 1
        pod rs=7 - going gone
        pod rs=7 - going gone""",
        """replicas rs gone
        pod rs=7 - going gone""",
    ),
    "an ordered set whose pods are labelled": (
        """""",
        """ordered st 1(0) 0/0/0 -:0 -:0
        ordered st 1(1) 0/0/0 a:0 a:0
        ordered st 1(1) 1/0/0 a:1 a:1
        revision a #1
        pod st-0=7 a new""",
        """ordered st 1(1) 1/1/1 a:1 a:1
        ordered st 1(1) 2/1/1 a:2 a:2
        pod st-0=7 a ready
        pod st-1=7 a new""",
        """ordered st 1(1) 2/2/2 a:2 a:2
        pod st-1=7 a ready""",
        """ordered st 2(1) 2/2/2 a:2 a:2
        ordered st 2(2) 2/2/2 a:2 a:2
        ordered st 2(2) 3/2/2 a:3 a:3
        pod st-2 a new""",
        """ordered st gone
        revision a gone
        pod st-0=7 a going gone
        pod st-1=7 a going gone
        pod st-2 a going gone""",
    ),
    "daemons that are labelled": (
        """""",
        """daemons da 1(0) 0:0 ready 0 new 0 up 0
        ? daemons da 1(1) 2:1 ready 0 new 1 up 0
        daemons da 1(1) 2:2 ready 0 new 2 up 0
        revision a #1
        pod da=7 a new
        pod da=7 a new""",
        """daemons da 1(1) 2:2 ready 1 new 2 up 1
        daemons da 1(1) 2:2 ready 2 new 2 up 2
        pod da=7 a ready
        pod da=7 a ready""",
        """daemons da gone
        revision a gone
        pod da=7 a going gone
        pod da=7 a going gone""",
    ),
    "a rollout whose pods are labelled": (
        """""",
        """rollout de 1(1) #1 2/2/0/0 -moving
        replicas a 1(0) 2:0/0/0 full 0
        ? replicas a 1(1) 2:0/0/0 full 0
        replicas a 1(1) 2:2/0/0 full 2
        pod de=7 a new
        pod de=7 a new""",
        """replicas a 1(1) 2:2/1/1 full 2
        replicas a 1(1) 2:2/2/2 full 2
        rollout de 1(1) #1 2/2/2/2 +NewReplicaSetAvailable
        pod de=7 a ready
        pod de=7 a ready""",
        """rollout de gone
        replicas a gone
        pod de=7 a going gone
        pod de=7 a going gone""",
    ),
    "a set whose pods are refused": (
        """""",
        """replicas rs 1(0) 3:0/0/0 full 0
        replicas rs 1(1) 3:0/0/0 full 0
        told rs FailedCreate: Error creating: admission webhook "review.fairlead.test" denied the request: not here""",
        """replicas rs 2(1) 2:0/0/0 full 0
        ? replicas rs 2(2) 2:0/0/0 full 0
        replicas rs 2(2) 2:2/0/0 full 2
        pod rs - new
        pod rs - new""",
        """replicas rs gone
        pod rs - going gone
        pod rs - going gone""",
    ),
    "an ordered set whose pods are refused": (
        """""",
        """ordered st 1(0) 0/0/0 -:0 -:0
        ordered st 1(1) 0/0/0 a:0 a:0
        revision a #1
        told st FailedCreate: Create Pod st-0 in StatefulSet st failed error: admission webhook "review.fairlead.test" denied the request: not here""",
        """ordered st 2(1) 0/0/0 a:0 a:0
        ordered st 2(2) 0/0/0 a:0 a:0
        ordered st 2(2) 1/0/0 a:1 a:1
        pod st-0 a new""",
        """ordered st gone
        revision a gone
        pod st-0 a going gone""",
    ),
    "daemons that are refused": (
        """""",
        """daemons da 1(0) 0:0 ready 0 new 0 up 0
        daemons da 1(1) 2:0 ready 0 new 0 up 0
        revision a #1
        told da FailedCreate: Error creating: admission webhook "review.fairlead.test" denied the request: not here""",
        """daemons da gone
        revision a gone""",
    ),
    "a rollout whose pods are refused": (
        """""",
        """rollout de 1(1) #1 0/0/0/0 -moving
        replicas a 1(0) 2:0/0/0 full 0
        replicas a 1(1) 2:0/0/0 full 0
        told de-# FailedCreate: Error creating: admission webhook "review.fairlead.test" denied the request: not here""",
        """rollout de gone
        replicas a gone""",
    ),
    "an ordered set whose pods a policy denies": (
        """""",
        """ordered st 1(0) 0/0/0 -:0 -:0
        ordered st 1(1) 0/0/0 a:0 a:0
        revision a #1
        told st FailedCreate: Create Pod st-0 in StatefulSet st failed error: pods "st-0" is forbidden: ValidatingAdmissionPolicy '0' with binding '0' denied request: not here""",
        """ordered st 2(1) 0/0/0 a:0 a:0
        ordered st 2(2) 0/0/0 a:0 a:0
        ordered st 2(2) 1/0/0 a:1 a:1
        pod st-0 a new""",
        """ordered st gone
        revision a gone
        pod st-0 a going gone""",
    ),
    "a parallel set of which one pod is refused": (
        """""",
        """ordered st 1(0) 0/0/0 -:0 -:0
        ordered st 1(1) 0/0/0 a:0 a:0
        ordered st 1(1) 2/0/0 a:2 a:2
        revision a #1
        told st FailedCreate: Create Pod st-1 in StatefulSet st failed error: admission webhook "review.fairlead.test" denied the request: not here
        pod st-0 a new
        pod st-2 a new""",
        """ordered st 2(1) 2/0/0 a:2 a:2
        ordered st 2(2) 2/0/0 a:2 a:2
        ordered st 2(2) 6/0/0 a:6 a:6
        pod st-1 a new
        pod st-3 a new
        pod st-4 a new
        pod st-5 a new""",
        """ordered st gone
        revision a gone
        pod st-0 a going gone
        pod st-1 a going gone
        pod st-2 a going gone
        pod st-3 a going gone
        pod st-4 a going gone
        pod st-5 a going gone""",
    ),
    "a rollout whose set is refused": (
        """""",
        """rollout de 1(0) #- 0/0/0/0 ReplicaSetCreateError
        told de ReplicaSetCreateError: Failed to create new replica set "de-#": admission webhook "review.fairlead.test" denied the request: not here""",
        """rollout de 2(2) #1 2/2/0/0 -moving
        ? replicas a 1(0) 2:0/0/0 full 0
        ? replicas a 1(1) 2:0/0/0 full 0
        ? replicas a 1(1) 2:2/0/0 full 2
        ? replicas a 1(0) 1:0/0/0 full 0
        ? replicas a 1(1) 1:0/0/0 full 0
        ? replicas a 1(1) 1:1/0/0 full 1
        ? replicas a 2(1) 2:1/0/0 full 1
        ? replicas a 2(2) 2:1/0/0 full 1
        ? replicas a 2(2) 2:2/0/0 full 2
        pod de a new
        pod de a new""",
        """rollout de gone
        replicas a gone
        pod de a going gone
        pod de a going gone""",
    ),
    "revisions that are refused": (
        """""",
        """ordered st 1(0) 0/0/0 -:0 -:0""",
        """ordered st 2(0) 0/0/0 -:0 -:0
        ordered st 2(2) 0/0/0 a:0 a:0
        ordered st 2(2) 1/0/0 a:1 a:1
        revision a #1
        pod st-0 a new""",
        """ordered st gone
        revision a gone
        pod st-0 a going gone""",
    ),
    "claims that are refused": (
        """""",
        """ordered st 1(0) 0/0/0 -:0 -:0
        ordered st 1(1) 0/0/0 a:0 a:0
        revision a #1
        told st FailedCreate: Create Claim data-st-0 for Pod st-0 in StatefulSet st failed error: admission webhook "review.fairlead.test" denied the request: not here
        told st FailedCreate: Create Pod st-0 in StatefulSet st failed error: failed to create PVC data-st-0: admission webhook "review.fairlead.test" denied the request: not here""",
        """ordered st 2(1) 0/0/0 a:0 a:0
        ordered st 2(2) 0/0/0 a:0 a:0
        ordered st 2(2) 1/0/0 a:1 a:1
        claim data-st-0 free
        pod st-0 a new""",
        """ordered st gone
        revision a gone
        pod st-0 a going gone""",
    ),
    "a status that is refused": (
        """""",
        """ordered st 1(0) 0/0/0 -:0 -:0
        revision a #1
        pod st-0 a new
        pod st-1 a new""",
        """ordered st 2(0) 0/0/0 -:0 -:0
        ordered st 2(2) 2/0/0 a:2 a:2
        ordered st 2(2) 3/0/0 a:3 a:3
        pod st-2 a new""",
        """ordered st gone
        revision a gone
        pod st-0 a going gone
        pod st-1 a going gone
        pod st-2 a going gone""",
    ),
    "pods of a set that may not be deleted": (
        """replicas rs 1(0) 2:0/0/0 full 0
        ? replicas rs 1(1) 2:0/0/0 full 0
        replicas rs 1(1) 2:2/0/0 full 2
        pod rs - new
        pod rs - new""",
        """""",
        """replicas rs 2(1) 1:2/0/0 full 2
        replicas rs 2(2) 1:2/0/0 full 2
        told rs FailedDelete: Error deleting: admission webhook "review.fairlead.test" denied the request: not here""",
        """replicas rs 3(2) 0:2/0/0 full 2
        ? replicas rs 3(3) 0:2/0/0 full 2
        replicas rs 3(3) 0:0/0/0 full 0
        pod rs - going gone
        pod rs - going gone""",
        """replicas rs gone""",
    ),
    "pods of an ordered set that may not be deleted": (
        """ordered st 1(0) 0/0/0 -:0 -:0
        ordered st 1(1) 0/0/0 a:0 a:0
        ordered st 1(1) 3/0/0 a:3 a:3
        revision a #1
        pod st-0 a new
        pod st-1 a new
        pod st-2 a new""",
        """""",
        """ordered st 2(1) 3/0/0 a:3 a:3
        ordered st 2(2) 3/0/0 a:3 a:3
        ordered st 2(2) 1/0/0 a:1 a:1
        told st FailedDelete: Delete Pod st-1 in StatefulSet st failed error: admission webhook "review.fairlead.test" denied the request: not here
        pod st-0 a going gone
        pod st-2 a going gone""",
        """ordered st 3(2) 1/0/0 a:1 a:1
        ordered st 3(3) 1/0/0 a:1 a:1
        ordered st 3(3) 0/0/0 a:0 a:0
        pod st-1 a going gone""",
        """ordered st gone
        revision a gone""",
    ),
    "garbage that may not be deleted": (
        """replicas rs 1(0) 1:0/0/0 full 0
        ? replicas rs 1(1) 1:0/0/0 full 0
        replicas rs 1(1) 1:1/0/0 full 1
        pod rs - new""",
        """""",
        """replicas rs gone""",
        """pod rs - going gone""",
    ),
    "pods that lose the label of their set": (
        """""",
        """ordered st 1(0) 0/0/0 -:0 -:0
        ordered st 1(1) 0/0/0 a:0 a:0
        revision a #1
        pod st-0 a new new orphan""",
        """ordered st gone
        revision a gone""",
    ),
    "a webhook that is not there and not needed": (
        """""",
        """replicas rs 1(0) 2:0/0/0 full 0
        ? replicas rs 1(1) 2:0/0/0 full 0
        replicas rs 1(1) 2:2/0/0 full 2
        pod rs - new
        pod rs - new""",
        """replicas rs gone
        pod rs - going gone
        pod rs - going gone""",
    ),
    "a webhook that is not there and needed": (
        """""",
        """replicas rs 1(0) 2:0/0/0 full 0
        replicas rs 1(1) 2:0/0/0 full 0
        told rs FailedCreate: Error creating: Internal error occurred: failed calling webhook "review.fairlead.test": failed to call webhook""",
        """replicas rs gone""",
    ),
    "a webhook that is late and not needed": (
        """""",
        """replicas rs 1(0) 3:0/0/0 full 0
        ? replicas rs 1(1) 3:0/0/0 full 0
        replicas rs 1(1) 3:3/0/0 full 3
        pod rs - new
        pod rs - new
        pod rs - new""",
        """replicas rs gone
        pod rs - going gone
        pod rs - going gone
        pod rs - going gone""",
    ),
    "a webhook that is late and needed": (
        """""",
        """ordered st 1(0) 0/0/0 -:0 -:0
        ordered st 1(1) 0/0/0 a:0 a:0
        revision a #1
        told st FailedCreate: Create Pod st-0 in StatefulSet st failed error: Internal error occurred: failed calling webhook "review.fairlead.test": failed to call webhook""",
        """ordered st gone
        revision a gone""",
    ),
}
