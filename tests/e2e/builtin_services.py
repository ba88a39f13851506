"""Services and what goes with them, sound and broken, by what is said of each."""

from __future__ import annotations

from tests.e2e.builtin_trees import Tree, a_path, a_policy, a_service, a_slice, an, an_ingress

SERVICES: dict[str, Tree] = {
    "service": a_service(),
    "service of several ports": a_service(
        {"name": "a", "port": 80, "targetPort": "http"}, {"name": "b", "port": 81, "protocol": "UDP"}
    ),
    "headless service": a_service(clusterIP="None"),
    "headless service without selector": an("Service", spec={"clusterIP": "None"}),
    "headless service without ports": an("Service", spec={"clusterIP": "None", "selector": {"a": "b"}}),
    "service of a node port": a_service(type="NodePort"),
    "service of a load balancer": a_service(type="LoadBalancer"),
    "service of a load balancer without node ports": a_service(
        type="LoadBalancer", allocateLoadBalancerNodePorts=False
    ),
    "service of a local load balancer": a_service(type="LoadBalancer", externalTrafficPolicy="Local"),
    "alias": an("Service", spec={"type": "ExternalName", "externalName": "example.com"}),
    "alias of nothing": an("Service", spec={"type": "ExternalName"}),
    "alias with a bad name": an("Service", spec={"type": "ExternalName", "externalName": "A_"}),
    "alias with an address": an(
        "Service", spec={"type": "ExternalName", "externalName": "a.b", "clusterIP": "1.2.3.4"}
    ),
    "service with affinity": a_service(sessionAffinity="ClientIP"),
    "service with a long affinity": a_service(
        sessionAffinity="ClientIP", sessionAffinityConfig={"clientIP": {"timeoutSeconds": 90000}}
    ),
    "service with affinity left over": a_service(sessionAffinityConfig={"clientIP": {"timeoutSeconds": 9}}),
    "service with an odd affinity": a_service(sessionAffinity="Odd"),
    "service without ports": an("Service", spec={"selector": {"a": "b"}}),
    "service of an odd type": a_service(type="Odd"),
    "service of unnamed ports": a_service({"port": 1}, {"port": 2}),
    "service with one port twice": a_service({"name": "a", "port": 1}, {"name": "b", "port": 1}),
    "service with one name twice": a_service({"name": "a", "port": 1}, {"name": "a", "port": 2}),
    "service with bad ports": a_service({"name": "A", "port": 0, "protocol": "X", "targetPort": "Bad_Name"}),
    "cluster address with a node port": a_service({"port": 1, "nodePort": 30001}),
    "one node port twice": a_service(
        {"name": "a", "port": 1, "nodePort": 30500}, {"name": "b", "port": 2, "nodePort": 30500}, type="NodePort"
    ),
    "headless node port": a_service(type="NodePort", clusterIP="None"),
    "bad address": a_service(clusterIP="x"),
    "address out of range": a_service(clusterIP="192.0.2.1"),
    "addresses that differ": a_service(clusterIP="10.0.0.77", clusterIPs=["10.0.0.78"]),
    "address without the first": a_service(clusterIPs=["10.0.0.78"]),
    "both families": a_service(ipFamilyPolicy="RequireDualStack"),
    "either family": a_service(ipFamilyPolicy="PreferDualStack"),
    "odd family policy": a_service(ipFamilyPolicy="Odd"),
    "other family": a_service(ipFamilies=["IPv6"]),
    "odd family": a_service(ipFamilies=["IPv5"]),
    "bad outer address": a_service(externalIPs=["x"]),
    "outer address of this host": a_service(externalIPs=["127.0.0.1"]),
    "traffic policy of an inner service": a_service(externalTrafficPolicy="Local"),
    "odd inner traffic policy": a_service(internalTrafficPolicy="Odd"),
    "odd distribution": a_service(trafficDistribution="Odd"),
    "class of no load balancer": a_service(loadBalancerClass="a/b"),
    "ranges of no load balancer": a_service(loadBalancerSourceRanges=["10.0.0.0/8"]),
    "bad ranges": a_service(type="LoadBalancer", loadBalancerSourceRanges=["x"]),
    "bad selector": a_service(selector={"a b": "c"}),
    "endpoints": an("Endpoints", subsets=[{"addresses": [{"ip": "1.2.3.4"}], "ports": [{"port": 80}]}]),
    "endpoints that are bad": an(
        "Endpoints", subsets=[{"addresses": [{"ip": "127.0.0.1"}, {"ip": "x"}], "ports": [{"port": 0}, {"port": 1}]}]
    ),
    "endpoints of nothing": an("Endpoints", subsets=[{}]),
    "slice": a_slice(endpoints=[{"addresses": ["1.2.3.4"]}], ports=[{"port": 80}]),
    "slice of odd addresses": a_slice(addressType="Odd", endpoints=[{"addresses": ["x"]}]),
    "slice of bad addresses": a_slice(endpoints=[{"addresses": ["x"]}, {"addresses": []}]),
    "slice with ports of one name": a_slice(ports=[{"port": 1}, {"port": 2}]),
    "ingress": an_ingress({"host": "a.b", "http": {"paths": [a_path()]}}),
    "ingress of nothing": an_ingress(),
    "ingress with a default": an_ingress(defaultBackend={"service": {"name": "web", "port": {"name": "http"}}}),
    "ingress with an odd path": an_ingress(
        {"http": {"paths": [a_path("x", "Odd"), a_path("/a//b"), a_path("/", None)]}}
    ),
    "ingress with a bad host": an_ingress({"host": "A_", "http": {"paths": [a_path()]}}),
    "ingress with an address as host": an_ingress({"host": "1.2.3.4", "http": {"paths": [a_path()]}}),
    "ingress of any host": an_ingress({"host": "*.a.b", "http": {"paths": [a_path()]}}),
    "ingress without a backend": an_ingress({"http": {"paths": [{"path": "/", "pathType": "Exact", "backend": {}}]}}),
    "ingress to a bad service": an_ingress({"http": {"paths": [a_path(name="A_", port={})]}}),
    "ingress without paths": an_ingress({"http": {"paths": []}}),
    "ingress with bad certificates": an_ingress(
        {"http": {"paths": [a_path()]}}, tls=[{"hosts": ["A_"], "secretName": "B_"}]
    ),
    "ingress class": an("IngressClass", version="networking.k8s.io/v1", spec={"controller": "a.b/c"}),
    "ingress class with parameters": an(
        "IngressClass",
        version="networking.k8s.io/v1",
        spec={"controller": "a.b/c", "parameters": {"kind": "K", "name": "n"}},
    ),
    "ingress class without controller": an("IngressClass", version="networking.k8s.io/v1", spec={}),
    "network policy": a_policy(),
    "network policy with everything": a_policy(
        ingress=[
            {
                "from": [{"podSelector": {}}, {"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}],
                "ports": [{"port": 80}],
            }
        ],
        egress=[{"to": [{"namespaceSelector": {}}], "ports": [{"port": 80, "endPort": 90, "protocol": "UDP"}]}],
    ),
    "network policy that is bad": a_policy(
        ingress=[
            {"from": [{"podSelector": {}, "ipBlock": {"cidr": "x"}}, {}], "ports": [{"port": 0, "protocol": "X"}]}
        ],
        policyTypes=["Odd"],
    ),
    "network policy with bad ends": a_policy(
        egress=[{"ports": [{"port": "http", "endPort": 9}, {"port": 9, "endPort": 8}, {"endPort": 3}]}]
    ),
}
