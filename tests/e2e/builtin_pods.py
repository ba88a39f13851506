"""Pods, sound and broken, by what is said of each."""

from __future__ import annotations

from tests.e2e.builtin_trees import BUSY, FULL, SELECTOR, Tree, a_container, a_pod, an, with_main

PODS: dict[str, Tree] = {
    "pod with the least": a_pod(),
    "pod with nearly everything": a_pod(BUSY, **FULL),
    "pod of the host network": a_pod(a_container(ports=[{"containerPort": 80}]), hostNetwork=True),
    "pod with resources of its own": a_pod(
        a_container(resources={"requests": {"cpu": "100m"}}), resources={"limits": {"cpu": "1", "memory": "1Gi"}}
    ),
    "pod that is guaranteed": with_main(resources={"limits": {"cpu": "1", "memory": "1Gi"}}),
    "pod of the system class": a_pod(priorityClassName="system-node-critical"),
    "pod of no known class": a_pod(priorityClassName="none"),
    "pod with a priority of its own": a_pod(priority=5),
    "pod of an account that is not there": a_pod(serviceAccountName="nobody"),
    "pod without a token": a_pod(automountServiceAccountToken=False),
    "pod with an old account": a_pod(serviceAccount="default"),
    "pod without containers": an("Pod", spec={"containers": []}),
    "pod without a spec": an("Pod"),
    "container without a name": a_pod({"image": "a"}),
    "container without an image": a_pod({"name": "a"}),
    "container with a bad name": a_pod(a_container("A_b")),
    "container with a dotted name": a_pod(a_container("a.b")),
    "container with a long name": a_pod(a_container("a" * 64)),
    "two containers of one name": a_pod(a_container("a"), a_container("a")),
    "init container of a container's name": a_pod(initContainers=[a_container()]),
    "init container with a probe": a_pod(initContainers=[a_container("i", livenessProbe={"exec": {"command": ["a"]}})]),
    "image with spaces": with_main(image=" a "),
    "ephemeral container": a_pod(ephemeralContainers=[a_container("e")]),
    "bad pull policy": with_main(imagePullPolicy="Maybe"),
    "bad termination message policy": with_main(terminationMessagePolicy="Maybe"),
    "port without a number": with_main(ports=[{"name": "http"}]),
    "port out of range": with_main(ports=[{"containerPort": 70000}]),
    "port with a bad name": with_main(ports=[{"containerPort": 1, "name": "Http_Port_That_Is_Long"}]),
    "two ports of one name": with_main(ports=[{"containerPort": 1, "name": "a"}, {"containerPort": 2, "name": "a"}]),
    "bad protocol": with_main(ports=[{"containerPort": 1, "protocol": "HTTP"}]),
    "one host port twice": with_main(ports=[{"containerPort": 1, "hostPort": 9}, {"containerPort": 2, "hostPort": 9}]),
    "host port of the host network": a_pod(a_container(ports=[{"containerPort": 1, "hostPort": 2}]), hostNetwork=True),
    "variable without a name": with_main(env=[{"value": "1"}]),
    "variable with a bad name": with_main(env=[{"name": "a=b"}]),
    "variable from nowhere": with_main(env=[{"name": "a", "valueFrom": {}}]),
    "variable with value and source": with_main(
        env=[{"name": "a", "value": "b", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]
    ),
    "variable from an unknown field": with_main(
        env=[{"name": "a", "valueFrom": {"fieldRef": {"fieldPath": "spec.x"}}}]
    ),
    "variable from a field not for variables": with_main(
        env=[{"name": "a", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels"}}}]
    ),
    "variable from an unknown resource": with_main(
        env=[{"name": "a", "valueFrom": {"resourceFieldRef": {"resource": "limits.x"}}}]
    ),
    "variable from a map without key": with_main(env=[{"name": "a", "valueFrom": {"configMapKeyRef": {"name": "m"}}}]),
    "variables from nowhere": with_main(envFrom=[{}]),
    "mount of no volume": with_main(volumeMounts=[{"name": "a", "mountPath": "/a"}]),
    "mount without a path": a_pod(a_container(volumeMounts=[{"name": "a"}]), volumes=[{"name": "a"}]),
    "one path mounted twice": a_pod(
        a_container(volumeMounts=[{"name": "a", "mountPath": "/a"}, {"name": "a", "mountPath": "/a"}]),
        volumes=[{"name": "a"}],
    ),
    "mount with a path that climbs": a_pod(
        a_container(volumeMounts=[{"name": "a", "mountPath": "/a", "subPath": "../b"}]), volumes=[{"name": "a"}]
    ),
    "volume without a name": a_pod(volumes=[{"emptyDir": {}}]),
    "two volumes of one name": a_pod(volumes=[{"name": "a"}, {"name": "a"}]),
    "volume of two kinds": a_pod(volumes=[{"name": "a", "emptyDir": {}, "configMap": {"name": "b"}}]),
    "volume of no map": a_pod(volumes=[{"name": "a", "configMap": {}}]),
    "volume of no Secret": a_pod(volumes=[{"name": "a", "secret": {}}]),
    "volume of no claim": a_pod(volumes=[{"name": "a", "persistentVolumeClaim": {"claimName": ""}}]),
    "host path of an unknown type": a_pod(volumes=[{"name": "a", "hostPath": {"path": "/a", "type": "Door"}}]),
    "mode out of range": a_pod(volumes=[{"name": "a", "configMap": {"name": "b", "defaultMode": 4096}}]),
    "items that climb": a_pod(
        volumes=[{"name": "a", "secret": {"secretName": "b", "items": [{"key": "k", "path": "../a"}]}}]
    ),
    "probe of nothing": with_main(livenessProbe={"periodSeconds": 3}),
    "probe of two things": with_main(livenessProbe={"exec": {"command": ["a"]}, "tcpSocket": {"port": 1}}),
    "probe without a command": with_main(readinessProbe={"exec": {}}),
    "probe with negative numbers": with_main(
        readinessProbe={"tcpSocket": {"port": 1}, "periodSeconds": -1, "initialDelaySeconds": -2}
    ),
    "liveness that needs two successes": with_main(livenessProbe={"tcpSocket": {"port": 1}, "successThreshold": 2}),
    "readiness with a grace period": with_main(
        readinessProbe={"tcpSocket": {"port": 1}, "terminationGracePeriodSeconds": 2}
    ),
    "probe with a bad scheme": with_main(livenessProbe={"httpGet": {"port": 1, "scheme": "FTP"}}),
    "probe with a bad port": with_main(livenessProbe={"httpGet": {"port": 0}}),
    "probe with a bad header": with_main(
        livenessProbe={"httpGet": {"port": 1, "httpHeaders": [{"name": "a b", "value": "c"}]}}
    ),
    "sleep longer than grace": with_main(lifecycle={"preStop": {"sleep": {"seconds": 100}}}),
    "requests above limits": with_main(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}),
    "negative resources": with_main(resources={"requests": {"memory": "-1"}}),
    "unknown resource": with_main(resources={"requests": {"things": "1"}}),
    "resource in parts": with_main(resources={"limits": {"example.com/gpu": "1500m"}}),
    "extended resource without a limit": with_main(resources={"requests": {"example.com/gpu": "1"}}),
    "claim of no resource": with_main(resources={"claims": [{"name": "a"}]}),
    "bad restart policy": a_pod(restartPolicy="Sometimes"),
    "bad dns policy": a_pod(dnsPolicy="Guess"),
    "no dns and no servers": a_pod(dnsPolicy="None"),
    "bad name server": a_pod(dnsConfig={"nameservers": ["x"]}),
    "bad node selector": a_pod(nodeSelector={"a b": "c d"}),
    "bad host name": a_pod(hostname="A"),
    "bad subdomain": a_pod(subdomain="a.b"),
    "bad node name": a_pod(nodeName="a_b"),
    "bad account name": a_pod(serviceAccountName="A_"),
    "bad class name": a_pod(priorityClassName="A_"),
    "deadline of nothing": a_pod(activeDeadlineSeconds=0),
    "bad user": a_pod(securityContext={"runAsUser": -1, "fsGroup": -2}),
    "bad change policy": a_pod(securityContext={"fsGroupChangePolicy": "Maybe"}),
    "bad seccomp": a_pod(securityContext={"seccompProfile": {"type": "Odd"}}),
    "seccomp without its file": with_main(securityContext={"seccompProfile": {"type": "Localhost"}}),
    "privileged without escalation": with_main(securityContext={"privileged": True, "allowPrivilegeEscalation": False}),
    "toleration with an odd operator": a_pod(tolerations=[{"key": "a", "operator": "Odd"}]),
    "toleration without a key": a_pod(tolerations=[{"operator": "Equal", "value": "a"}]),
    "toleration that exists with a value": a_pod(tolerations=[{"key": "a", "operator": "Exists", "value": "b"}]),
    "toleration with an odd effect": a_pod(tolerations=[{"key": "a", "effect": "Odd"}]),
    "toleration for a time of no execution": a_pod(
        tolerations=[{"key": "a", "effect": "NoSchedule", "tolerationSeconds": 1}]
    ),
    "node affinity without terms": a_pod(
        affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}}
    ),
    "node affinity with an odd operator": a_pod(
        affinity={
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Odd"}]}]
                }
            }
        }
    ),
    "pod affinity without a topology": a_pod(
        affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"labelSelector": SELECTOR}]}}
    ),
    "weight out of range": a_pod(
        affinity={
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 101, "podAffinityTerm": {"topologyKey": "zone"}}
                ]
            }
        }
    ),
    "spread of nothing": a_pod(topologySpreadConstraints=[{"maxSkew": 0, "whenUnsatisfiable": "Odd"}]),
    "spread twice": a_pod(
        topologySpreadConstraints=[
            {"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule"},
            {"maxSkew": 2, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule"},
        ]
    ),
    "gate twice": a_pod(schedulingGates=[{"name": "a"}, {"name": "a"}]),
    "gate and node": a_pod(schedulingGates=[{"name": "a"}], nodeName="n"),
    "readiness gate with a bad name": a_pod(readinessGates=[{"conditionType": "a b"}]),
    "bad host alias": a_pod(hostAliases=[{"ip": "x", "hostnames": ["A"]}]),
    "shared processes of the host": a_pod(hostPID=True, shareProcessNamespace=True),
    "many wrongs at once": a_pod({"name": "A"}, {}, restartPolicy="x", hostname="_", volumes=[{"name": ""}]),
}
