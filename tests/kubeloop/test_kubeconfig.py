from __future__ import annotations

import base64
import pwd
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from kubeloop.errors import ConfigError
from kubeloop.kubeconfig import ClusterConfig, Impersonation, find, in_cluster, load

Tree = dict[str, object]


def a_kubeconfig(
    path: Path,
    *,
    cluster: Tree | None = None,
    user: Tree | None = None,
    context: Tree | None = None,
    current: str = "dev",
    name: str = "dev",
) -> Path:
    """One context with its cluster and user, all of one name."""
    tree = {
        "clusters": [{"name": name, "cluster": {"server": f"https://{name}:6443", **(cluster or {})}}],
        "users": [{"name": name, "user": user or {}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name, **(context or {})}}],
        "current-context": current,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(tree))
    return path


def refusal(*paths: Path, context: str = "") -> str:
    with pytest.raises(ConfigError) as caught:
        load(paths, context)
    return str(caught.value)


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def test_a_context_gives_its_cluster_user_and_namespace(tmp_path: Path) -> None:
    cluster: Tree = {"tls-server-name": "api.dev", "proxy-url": "http://proxy:3128", "disable-compression": True}
    user: Tree = {"token": "t0", "as": "jane", "as-uid": "7", "as-groups": ["ops"], "as-user-extra": {"k": ["1", "2"]}}
    path = a_kubeconfig(tmp_path / "config", cluster=cluster, user=user, context={"namespace": "shop"})

    config = load([path])

    assert config == ClusterConfig(
        server="https://dev:6443",
        context="dev",
        namespace="shop",
        user="dev",
        tls_server_name="api.dev",
        proxy="http://proxy:3128",
        compression=False,
        token="t0",
        impersonation=Impersonation("jane", "7", ("ops",), (("k", "1"), ("k", "2"))),
    )


def test_the_namespace_is_default_where_the_context_names_none(tmp_path: Path) -> None:
    assert load([a_kubeconfig(tmp_path / "config")]).namespace == "default"


def test_data_is_decoded_and_wins_over_the_file_beside_it(tmp_path: Path) -> None:
    encoded = base64.b64encode(b"PEM" * 30).decode()
    folded = encoded[:40] + "\n  " + encoded[40:]
    cluster: Tree = {"certificate-authority": "missing", "certificate-authority-data": folded}
    user: Tree = {"client-certificate-data": encoded, "client-key-data": encoded, "client-key": "missing"}

    config = load([a_kubeconfig(tmp_path / "config", cluster=cluster, user=user)])

    assert config.ca == config.certificate == config.key == b"PEM" * 30
    assert (config.ca_file, config.certificate_file, config.key_file) == ("", "", "")


def test_relative_paths_start_at_the_file_that_names_them(tmp_path: Path) -> None:
    folder = tmp_path / "deep"
    plugin = {"command": "./bin/login", "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never"}
    user: Tree = {"client-certificate": "crt", "client-key": "key", "tokenFile": "token", "exec": plugin}
    path = a_kubeconfig(folder / "config", cluster={"certificate-authority": "ca.crt"}, user=user)
    for name in ("ca.crt", "crt", "key", "token"):
        (folder / name).write_text(name)

    config = load([path])

    assert config.ca_file == str(folder / "ca.crt")
    assert config.certificate_file == str(folder / "crt")
    assert config.key_file == str(folder / "key")
    assert config.token_file == str(folder / "token")
    assert config.exec is not None
    assert Path(config.exec.command) == folder / "bin/login"


def test_a_plugin_on_the_path_is_left_to_the_path(tmp_path: Path) -> None:
    plugin = {
        "command": "login",
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "args": ["--quiet"],
        "env": [{"name": "REGION", "value": "north"}],
        "installHint": "\x1b[1mget it from the shop\n",
        "provideClusterInfo": True,
    }
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "a"}}
    path = a_kubeconfig(tmp_path / "config", cluster={"extensions": [extension]}, user={"exec": plugin})

    found = load([path]).exec

    assert found is not None
    assert found.command == "login"
    assert found.args == ("--quiet",)
    assert found.env == (("REGION", "north"),)
    assert found.interactive_mode == "IfAvailable"
    assert found.install_hint == "[1mget it from the shop"
    assert found.config == {"audience": "a"}


def test_of_several_files_the_first_with_a_name_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = a_kubeconfig(tmp_path / "first", user={"token": "first"}, current="")
    second = a_kubeconfig(tmp_path / "second", user={"token": "second"}, current="prod")
    third = a_kubeconfig(tmp_path / "third", name="prod", user={"token": "third"}, current="dev")
    monkeypatch.setenv("KUBECONFIG", f"{first}:{second}::{tmp_path / 'missing'}:{third}")

    current = load(None)
    dev = load(None, "dev")

    # The first file sets no current context, so the second's counts.
    assert (current.context, current.token) == ("prod", "third")
    assert dev.token == "first"


def test_the_home_folder_is_asked_last(tmp_path: Path) -> None:
    a_kubeconfig(tmp_path / "home/.kube/config", user={"token": "home"})

    assert load(None).token == "home"


def test_the_caller_may_name_the_server_and_the_user_to_act_for(tmp_path: Path) -> None:
    path = a_kubeconfig(tmp_path / "config", cluster={"tls-server-name": "api.dev"}, user={"as": "jane"})

    config = load([path], impersonate="joe", server="https://other:1/")

    assert config.server == "https://other:1"
    assert config.tls_server_name == ""
    assert config.impersonation.user == "joe"


def test_a_context_without_a_user_is_anonymous(tmp_path: Path) -> None:
    config = load([a_kubeconfig(tmp_path / "config", context={"user": ""})])

    assert (config.user, config.token) == ("", "")


def test_secrets_are_not_printed(tmp_path: Path) -> None:
    config = load([a_kubeconfig(tmp_path / "config", user={"token": "hush", "password": "hush", "username": "u"})])

    assert "hush" not in repr(config)
    assert "https://dev:6443" in repr(config)


def test_no_file_at_all_says_where_one_was_looked_for(tmp_path: Path) -> None:
    text = refusal(tmp_path / "nowhere")

    assert text == f"no kubeconfig ({tmp_path / 'nowhere'}): check the path"


def test_no_file_in_the_usual_places_says_how_to_give_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "nowhere"))

    with pytest.raises(ConfigError, match="give one with --kubeconfig or set KUBECONFIG"):
        load(None)


def test_a_context_that_is_not_there_is_answered_with_those_that_are(tmp_path: Path) -> None:
    path = a_kubeconfig(tmp_path / "config")

    assert refusal(path, context="prod") == f"context 'prod' is not in {path}; there are: dev"


def test_without_a_current_context_the_choice_is_named(tmp_path: Path) -> None:
    path = a_kubeconfig(tmp_path / "config", current="")

    assert refusal(path) == f"{path} has no current context: choose one with --context; there are: dev"


def test_a_context_of_a_missing_cluster_or_user_says_which(tmp_path: Path) -> None:
    no_cluster = a_kubeconfig(tmp_path / "a", context={"cluster": "gone"})
    no_user = a_kubeconfig(tmp_path / "b", context={"user": "gone"})

    assert refusal(no_cluster) == (
        f"context 'dev' needs a cluster, but cluster 'gone' is not in {no_cluster}; there are: dev"
    )
    assert refusal(no_user) == f"context 'dev' needs a user, but user 'gone' is not in {no_user}; there are: dev"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("clusters: [", "is not YAML"),
        ("clusters: {a: b}", "is not a kubeconfig"),
        ("- just\n- a list", "is not a kubeconfig"),
        ("users: [{name: a, user: {token: 5}}]", "$.users[0].user.token"),
        ("\x00", "is not YAML"),
        ("", "has no contexts, as if it were empty: choose another file"),
    ],
)
def test_a_file_that_is_no_kubeconfig_says_so_in_one_line(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)

    found = refusal(path)

    assert found.startswith(str(path))
    assert complaint in found
    assert "\n" not in found


def test_a_folder_is_not_a_kubeconfig(tmp_path: Path) -> None:
    assert refusal(tmp_path) == f"{tmp_path} cannot be read: Is a directory"


@pytest.mark.parametrize(
    ("cluster", "user", "complaint"),
    [
        ({"server": ""}, {}, "the server '' of cluster 'dev' must start with https://"),
        ({"server": "dev:6443"}, {}, "the server 'dev:6443' of cluster 'dev' must start with https://"),
        ({"certificate-authority": "gone"}, {}, "needed for certificate-authority of cluster 'dev'"),
        ({"certificate-authority-data": "%%%"}, {}, "certificate-authority of cluster 'dev': its -data is not base64"),
        (
            {"certificate-authority-data": "YQ==", "insecure-skip-tls-verify": True},
            {},
            "has both a certificate-authority and insecure-skip-tls-verify",
        ),
        ({}, {"client-certificate": "gone"}, "needed for client-certificate of user 'dev'"),
        ({}, {"client-key-data": "YQ=="}, "needs both client-certificate and client-key"),
        ({}, {"tokenFile": "gone"}, "needed for tokenFile of user 'dev'"),
        ({}, {"auth-provider": {"name": "gcp"}}, "has an auth-provider, which Kubernetes removed: use an exec plugin"),
        ({}, {"exec": {"apiVersion": "client.authentication.k8s.io/v1"}}, "names no command"),
        (
            {},
            {"exec": {"command": "login", "apiVersion": "client.authentication.k8s.io/v1alpha1"}},
            "has apiVersion 'client.authentication.k8s.io/v1alpha1', which is not one of",
        ),
        (
            {},
            {"exec": {"command": "login", "apiVersion": "client.authentication.k8s.io/v1"}},
            "has interactiveMode '': it must be one of Never, IfAvailable, Always",
        ),
    ],
)
def test_what_cannot_be_used_says_what_is_wrong(tmp_path: Path, cluster: Tree, user: Tree, complaint: str) -> None:
    path = a_kubeconfig(tmp_path / "config", cluster=cluster, user=user)

    assert complaint in refusal(path)


def a_pod_folder(folder: Path) -> Path:
    folder.mkdir()
    (folder / "token").write_text("pod-token\n")
    (folder / "ca.crt").write_text("PEM")
    (folder / "namespace").write_text("shop\n")
    return folder


@pytest.mark.parametrize(
    ("host", "server"), [("10.0.0.1", "https://10.0.0.1:443"), ("fd00::1", "https://[fd00::1]:443")]
)
def test_a_pod_finds_its_own_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str, server: str) -> None:
    folder = a_pod_folder(tmp_path / "account")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")

    config = in_cluster(folder)

    assert (config.server, config.namespace, config.context) == (server, "shop", "in-cluster")
    assert (config.token_file, config.ca_file) == (str(folder / "token"), str(folder / "ca.crt"))


def test_a_pod_without_a_service_account_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")

    with pytest.raises(ConfigError, match="automountServiceAccountToken"):
        in_cluster(tmp_path)


def test_outside_of_a_pod_there_is_no_cluster_around_us(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not in a cluster: KUBERNETES_SERVICE_HOST"):
        in_cluster(tmp_path)


def test_a_pod_comes_before_the_home_folder_and_after_what_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_kubeconfig(tmp_path / "home/.kube/config", user={"token": "home"})
    other = a_kubeconfig(tmp_path / "other", user={"token": "other"})
    folder = a_pod_folder(tmp_path / "account")

    outside = find(folder=folder)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    inside = find(folder=folder, impersonate="joe", server="https://other")
    asked = find([other], folder=folder)
    monkeypatch.setenv("KUBECONFIG", str(other))
    by_environment = find(folder=folder)

    assert outside.token == "home"
    assert (inside.context, inside.server, inside.impersonation.user) == ("in-cluster", "https://other", "joe")
    assert asked.token == by_environment.token == "other"


def test_with_neither_a_file_nor_a_pod_the_way_out_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        find(folder=tmp_path)

    assert str(caught.value) == (
        f"no cluster to talk to: there is no {tmp_path / 'home/.kube/config'} and this is not a pod;"
        " give a kubeconfig with --kubeconfig or KUBECONFIG"
    )


def test_a_user_without_a_home_has_no_kubeconfig_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a pod that runs under any number, which no list of users has."""

    def nobody(_: int) -> pwd.struct_passwd:
        raise KeyError

    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", nobody)

    with pytest.raises(ConfigError) as none:
        find(folder=tmp_path)
    with pytest.raises(ConfigError) as asked:
        find(None, "dev", folder=tmp_path)

    assert str(none.value).startswith("no cluster to talk to: there is no ~/.kube/config and this is not a pod")
    assert "no kubeconfig (~/.kube/config)" in str(asked.value)


def test_reading_a_kubeconfig_does_not_import_the_http_client() -> None:
    program = "import sys, kubeloop.kubeconfig; print([m for m in ('aiohttp', 'ssl', 'yaml') if m in sys.modules])"

    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout

    assert printed.strip() == "[]"
