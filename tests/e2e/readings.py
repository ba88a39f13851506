"""What may be asked about objects: selectors, options, forms, paths."""

from __future__ import annotations

PODS = "/api/v1/namespaces/{ns}/pods"
MAPS = "/api/v1/namespaces/{ns}/configmaps"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PARTIALS = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
GROUPS = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

LABEL_SELECTORS = (
    *("a", "!a", "a=b", "a==b", "a!=b", "a in (b,c)", "a notin (b)", "a in ()", "a in (b", "a in b", "a in", "a notin"),
    *("a>1", "a<1", "a>b", "a<", "a b", "=b", "==", "!", "!=", "a=", "a!=", "a,", "a,,b", ",a", ",", "a=b=c", "a=(b)"),
    *("(a)", ")", "a in (,)", "a in (b,,c)", "-a", "a-", "a=-b", "a=b-", "x/y/z=1", "/a", "a/", "Foo.com/a=b", "é=1"),
    *("foo.com/a=b", "a" * 64, f"b={'c' * 64}", "a=b c", "a @ b", "a=@", "!a=b", "! a", "a  =  b", "a in (b c)", "in"),
    *("in in (in)", "a gt 1", "a=b,!", "a in (b),", '"a"', "a>1.5", "a>-1", "a>-b", "a>99999999999999999999", "a===b"),
    *("a!==b", "a=!b", "!!a", "\ta\n=b", "a in (=)", "a in (b,=)", "a in !", "a=b)", "a.b/c_d.e=F-g", "a in (-b,-c)"),
)
FIELD_SELECTORS = (
    *("metadata.name=full", "metadata.name==full", "metadata.name!=full", "metadata.name", "metadata.name=", "=a"),
    *("x=y", "metadata.name=full,metadata.namespace={ns}", "metadata.name=full,,", "metadata.name in (a)", ","),
    *(r"metadata.name=a\,b", r"metadata.name=a\=b", "metadata.name=a\\", r"metadata.name=a\x", "metadata.name=a=b"),
    *("!metadata.name", "metadata.name=a!=b", " metadata.name=full", "metadata.name= full", r"metadata\.name=full"),
)
POD_FIELDS = (
    *("spec.nodeName=node-1", "spec.nodeName!=node-1", "spec.nodeName=", "spec.host=node-1", "status.phase=Running"),
    *("status.podIP=10.0.0.1", "status.podIPs=10.0.0.1", "spec.hostNetwork=true", "spec.hostNetwork=false"),
    *("status.nominatedNodeName=", "spec.restartPolicy=Always", "spec.schedulerName=default-scheduler"),
    *("status.phase!=Running,spec.nodeName!=node-1", "spec.foo=x"),
)
OTHER_FIELDS = (
    ("/api/v1/namespaces/{ns}/secrets", "type=example.org/own"),
    ("/api/v1/namespaces/{ns}/services", "spec.type=ExternalName"),
    ("/api/v1/namespaces/{ns}/services", "spec.clusterIP=None"),
    ("/api/v1/namespaces/{ns}/replicationcontrollers", "status.replicas=2"),
    ("/apis/apps/v1/namespaces/{ns}/replicasets", "status.replicas=2"),
    ("/apis/batch/v1/namespaces/{ns}/jobs", "status.successful=0"),
    ("/apis/batch/v1/namespaces/{ns}/jobs", "status.foo=0"),
    ("/api/v1/namespaces/{ns}/events", "involvedObject.name=running,source=kubelet"),
    ("/api/v1/namespaces/{ns}/events", "source=example.org/c"),
    ("/api/v1/namespaces/{ns}/events", "reportingComponent=example.org/c"),
    ("/api/v1/namespaces/{ns}/events", "involvedObject.fieldPath=spec.containers{main}"),
    ("/apis/events.k8s.io/v1/namespaces/{ns}/events", "regarding.name=running,type=Warning"),
    ("/apis/events.k8s.io/v1/namespaces/{ns}/events", "reportingController=example.org/c"),
    ("/apis/events.k8s.io/v1/namespaces/{ns}/events", "reportingComponent=example.org/c"),
    ("/apis/events.k8s.io/v1/namespaces/{ns}/events", "source=kubelet"),
    ("/api/v1/nodes", "spec.unschedulable=true,metadata.name={ns}-n"),
    ("/api/v1/nodes", "metadata.namespace=x"),
    ("/api/v1/namespaces", "status.phase=Active,metadata.name={ns}"),
)
LIST_OPTIONS = (
    *("limit=-1", "limit=x", "limit=1", "limit=1&resourceVersion=0", "limit=", "limit=99999999999999999999"),
    *("limit=1&limit=2", "continue=x", "continue=eyJ2IjoiZm9vIn0", "labelSelector=a&labelSelector=b"),
    "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIifQ",
    "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MCwic3RhcnQiOiJhIn0",
    *("resourceVersion=x", "resourceVersion=-1", "resourceVersion=0", "resourceVersion=1"),
    *("resourceVersion=99999999", "resourceVersion=99999999&resourceVersionMatch=Exact"),
    *("resourceVersion=99999999&limit=1", "resourceVersionMatch=Exact", "resourceVersionMatch=NotOlderThan"),
    *("resourceVersionMatch=Foo", "resourceVersionMatch=Foo&resourceVersion=1"),
    *("resourceVersion=0&resourceVersionMatch=Exact", "resourceVersion=0&resourceVersionMatch=NotOlderThan"),
    *("resourceVersion=1&resourceVersionMatch=NotOlderThan&limit=1", "continue=x&resourceVersionMatch=Exact"),
    *("continue=x&resourceVersionMatch=Exact&resourceVersion=1", "sendInitialEvents=true", "sendInitialEvents=x"),
    *("sendInitialEvents=true&resourceVersionMatch=NotOlderThan", "watch=0", "watch=FALSE", "timeoutSeconds=x"),
    *("includeObject=Foo", "foo=bar"),
)
WATCH_OPTIONS = (
    *("resourceVersion=x", "resourceVersionMatch=Exact", "resourceVersionMatch=NotOlderThan", "continue=x"),
    *("sendInitialEvents=true", "sendInitialEvents=false", "sendInitialEvents=true&resourceVersionMatch=Exact"),
    *("sendInitialEvents=true&resourceVersionMatch=NotOlderThan", "labelSelector=a%20b", "fieldSelector=x%3Dy"),
    "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
    "sendInitialEvents=false&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
    "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=99999999",
    *("resourceVersion=99999999", "limit=1", "labelSelector=a", "fieldSelector=metadata.name%3Dfull"),
)
ACCEPTED = (
    *("application/json", "application/yaml", "text/html", "application/xml", "*/*", "application/*", "garbage"),
    *("application/json;pretty=1", "application/json;stream=watch", "application/json;stream=foo", TABLE, PARTIAL),
    *(f"{TABLE},application/json", PARTIALS, "application/json;as=Table;v=v1beta1;g=meta.k8s.io"),
    *("application/json;as=Table;v=v2;g=meta.k8s.io", "application/json;as=Foo;v=v1;g=meta.k8s.io"),
    *("application/json;as=Foo;v=v1;g=meta.k8s.io,application/json", "application/yaml;as=Table;v=v1;g=meta.k8s.io"),
    *("application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io", "application/cbor", "APPLICATION/JSON"),
    *("application/json;q=0.5,application/yaml;q=0.9", "application/json;as=Table", "application/json;g=x"),
)
PATHS = (
    *("/apis/apps/", "/apis/apps/v1/", "/apis/foo", "/apis/foo/v1", "/apis/apps/v2", "/api/v2", "/nope"),
    *("/healthz", "/livez/ping", "/livez/foo", "/readyz/etcd", "/readyz?verbose", "/livez?verbose&exclude=etcd"),
    *("/healthz?verbose", "/healthz/", "/openapi", "/openapi/v3/apis/nope/v1"),
)
