"""Where the cluster is and who we are there: from kubeconfig files or from inside a pod.

Files are merged as kubectl does: the first file that has a name wins, the first current context counts, and relative
paths start at the file that names them. What is loaded is a value; `kubeloop.auth` makes credentials of it.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct, field

from kubeloop.errors import ConfigError
from kubeloop.sealed import Unshown
from kubeloop.urls import shown_url

T = TypeVar("T")

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
DEEPEST = 1000
"""Lists and mappings within one another; no file of fewer bytes nests more deeply."""
EXEC_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
EXEC_EXTENSION = "client.authentication.k8s.io/exec"
INTERACTIVE_MODES = ("Never", "IfAvailable", "Always")


class ExecPlugin(Unshown, frozen=True):
    """A program that prints credentials."""

    api_version: str
    command: str
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    interactive_mode: str = "IfAvailable"
    install_hint: str = ""
    provide_cluster_info: bool = False
    config: object = None
    """What the cluster's entry holds for the plugin."""


class Impersonation(Struct, frozen=True):
    user: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, str], ...] = ()


class ClusterConfig(Struct, frozen=True, kw_only=True):
    """All that is needed to talk to one cluster; data wins over the file beside it."""

    server: str
    context: str = ""
    namespace: str = "default"
    user: str = ""
    ca: bytes = b""
    ca_file: str = ""
    insecure: bool = False
    tls_server_name: str = ""
    proxy: str = ""
    compression: bool = True
    token: str = ""
    token_file: str = ""
    username: str = ""
    password: str = ""
    certificate: bytes = b""
    certificate_file: str = ""
    key: bytes = b""
    key_file: str = ""
    exec: ExecPlugin | None = None
    impersonation: Impersonation = Impersonation()

    def __repr__(self) -> str:
        """Names the cluster without its secrets."""
        return f"ClusterConfig(server={self.server!r}, context={self.context!r}, user={self.user!r})"


class _Extension(Struct):
    name: str = ""
    extension: object = None


class _Cluster(Struct, rename="kebab"):
    server: str = ""
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    proxy_url: str = ""
    disable_compression: bool = False
    extensions: list[_Extension] | None = None


class _EnvVar(Unshown, frozen=True):
    name: str
    value: str = ""


class _Exec(Struct, rename="camel"):
    command: str = ""
    api_version: str = ""
    args: list[str] | None = None
    env: list[_EnvVar] | None = None
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


class _User(Unshown, frozen=True, rename="kebab"):
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = field(default="", name="tokenFile")
    impersonate: str = field(default="", name="as")
    as_uid: str = ""
    as_groups: list[str] | None = None
    as_user_extra: dict[str, list[str]] | None = None
    username: str = ""
    password: str = ""
    auth_provider: object = None
    exec: _Exec | None = None


class _Context(Struct):
    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _Named(Struct):
    name: str
    cluster: _Cluster | None = None
    user: _User | None = None
    context: _Context | None = None


class _File(Struct, rename="kebab"):
    clusters: list[_Named] | None = None
    users: list[_Named] | None = None
    contexts: list[_Named] | None = None
    current_context: str = ""


class _Merged:
    """The entries of all files by name, each cluster and user with the folder its relative paths start at."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.where = ", ".join(str(path) for path in paths)
        self.current = ""
        self.clusters: dict[str, tuple[_Cluster, Path]] = {}
        self.users: dict[str, tuple[_User, Path]] = {}
        self.contexts: dict[str, _Context] = {}
        for path in paths:
            self._add(_read(path), path.absolute().parent)

    def _add(self, file: _File, folder: Path) -> None:
        self.current = self.current or file.current_context
        for entry in file.clusters or ():
            self.clusters.setdefault(entry.name, (entry.cluster or _Cluster(), folder))
        for entry in file.users or ():
            self.users.setdefault(entry.name, (entry.user or _User(), folder))
        for entry in file.contexts or ():
            self.contexts.setdefault(entry.name, entry.context or _Context())

    def entry(self, entries: Mapping[str, T], name: str, what: str) -> T:
        if name not in entries:
            raise ConfigError(f"{what} {name!r} is not in {self.where}; there {_choice(entries)}")
        return entries[name]


def load(paths: Sequence[Path] | None, context: str = "", *, impersonate: str = "", server: str = "") -> ClusterConfig:
    """The cluster and user of a context, the current one when none is named.

    Without paths: the files of `KUBECONFIG`, else `~/.kube/config`. Files that do not exist are left out, one must.
    `impersonate` and `server` replace what the files say.
    """
    wanted = list(paths) if paths is not None else default_paths()
    there = [path for path in wanted if path.exists()]
    if not there:
        names = ", ".join(str(path) for path in wanted) or "no path given"
        help_ = "check the path" if paths else "give one with --kubeconfig or set KUBECONFIG"
        raise ConfigError(f"no kubeconfig ({names}): {help_}")
    merged = _Merged(there)
    name = context or merged.current
    if not name and not merged.contexts:
        raise ConfigError(f"{merged.where} has no contexts, as if it were empty: choose another file")
    if not name:
        contexts = _choice(merged.contexts)
        raise ConfigError(f"{merged.where} has no current context: choose one with --context; there {contexts}")
    chosen = merged.entry(merged.contexts, name, "context")
    cluster, folder = merged.entry(merged.clusters, chosen.cluster, f"context {name!r} needs a cluster, but cluster")
    user, home = _User(), folder
    if chosen.user:
        user, home = merged.entry(merged.users, chosen.user, f"context {name!r} needs a user, but user")
    ca, ca_file = _material(
        cluster.certificate_authority_data,
        cluster.certificate_authority,
        folder,
        f"certificate-authority of cluster {chosen.cluster!r}",
    )
    if cluster.insecure_skip_tls_verify and (ca or ca_file):
        raise ConfigError(
            f"cluster {chosen.cluster!r} has both a certificate-authority and insecure-skip-tls-verify: remove one"
        )
    config = ClusterConfig(
        server=_server(server or cluster.server, chosen.cluster),
        context=name,
        namespace=chosen.namespace or "default",
        user=chosen.user,
        # The name belongs to the server it stands beside.
        tls_server_name="" if server else cluster.tls_server_name,
        insecure=cluster.insecure_skip_tls_verify,
        proxy=cluster.proxy_url,
        compression=not cluster.disable_compression,
        ca=ca,
        ca_file=ca_file,
    )
    return _with_user(config, user, home, cluster, impersonate)


def in_cluster(folder: Path = SERVICE_ACCOUNT) -> ClusterConfig:
    """The cluster that this pod runs in, as its service account."""
    host, port = os.environ.get("KUBERNETES_SERVICE_HOST", ""), os.environ.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port:
        raise ConfigError("not in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set")
    token, authority, namespace = folder / "token", folder / "ca.crt", folder / "namespace"
    for path in (token, authority):
        _readable(str(path), "the service account; does the pod set automountServiceAccountToken: false?")
    return ClusterConfig(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        context="in-cluster",
        namespace=(_text(namespace) if namespace.exists() else "") or "default",
        ca_file=str(authority),
        token_file=str(token),
    )


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is no text: it must be UTF-8") from error


def find(
    paths: Sequence[Path] | None = None,
    context: str = "",
    *,
    impersonate: str = "",
    server: str = "",
    folder: Path = SERVICE_ACCOUNT,
) -> ClusterConfig:
    """What was asked for by path, context or `KUBECONFIG`; else the cluster around this pod; else `~/.kube/config`."""
    asked = paths is not None or context or os.environ.get("KUBECONFIG")
    if asked or not os.environ.get("KUBERNETES_SERVICE_HOST"):
        if not asked and not any(path.exists() for path in default_paths()):
            raise ConfigError(
                f"no cluster to talk to: there is no {default_paths()[0]} and this is not a pod;"
                " give a kubeconfig with --kubeconfig or KUBECONFIG"
            )
        return load(paths, context, impersonate=impersonate, server=server)
    config = in_cluster(folder)
    if server:
        config = msgspec.structs.replace(config, server=_server(server, "in-cluster"))
    return msgspec.structs.replace(config, impersonation=Impersonation(impersonate))


def default_paths() -> list[Path]:
    """The files of `KUBECONFIG`, else the one in the home folder."""
    named = [Path(part) for part in os.environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    # A user without a name and a HOME, as in a pod under any number, has no home folder, which is no mistake: `~`.
    return named or [Path(os.path.expanduser("~")) / ".kube" / "config"]  # noqa: PTH111


def _read(path: Path) -> _File:
    import yaml  # noqa: PLC0415  (slow to import, and only needed with a kubeconfig)

    try:
        content, loader = path.read_bytes(), getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        if len(content) > DEEPEST:
            _check_depth(yaml.parse(content, Loader=loader))
        tree = yaml.load(content, Loader=loader)  # noqa: S506
        return msgspec.convert(tree or {}, _File)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    except msgspec.ValidationError as error:
        raise ConfigError(f"{path} is not a kubeconfig: {error}") from error
    except RecursionError as error:
        raise ConfigError(f"{path} is not a kubeconfig: it is nested too deeply") from error
    except (yaml.YAMLError, ValueError) as error:  # dates and numbers that are none are ValueErrors
        raise ConfigError(f"{path} is not YAML: {' '.join(str(error).split())}") from error


def _check_depth(events: Iterable[object]) -> None:
    """Raises RecursionError where libyaml, which nests its calls as the file nests lists, would end the process."""
    depth = 0
    for event in events:
        kind = type(event).__name__
        depth += kind.endswith("StartEvent") - kind.endswith("EndEvent")
        if depth > DEEPEST:
            raise RecursionError


def _with_user(config: ClusterConfig, user: _User, folder: Path, cluster: _Cluster, impersonate: str) -> ClusterConfig:
    if user.auth_provider is not None:
        raise ConfigError(
            f"user {config.user!r} has an auth-provider, which Kubernetes removed: use an exec plugin, for example"
            " the one that the cloud's own command line writes"
        )
    certificate, certificate_file = _material(
        user.client_certificate_data, user.client_certificate, folder, f"client-certificate of user {config.user!r}"
    )
    key, key_file = _material(user.client_key_data, user.client_key, folder, f"client-key of user {config.user!r}")
    if bool(certificate or certificate_file) != bool(key or key_file):
        raise ConfigError(f"user {config.user!r} needs both client-certificate and client-key, or their -data, or none")
    token_file = _resolved(user.token_file, folder)
    if token_file and not user.token:
        _readable(token_file, f"tokenFile of user {config.user!r}")
    extra = tuple((key, value) for key, values in (user.as_user_extra or {}).items() for value in values)
    return msgspec.structs.replace(
        config,
        token=user.token,
        token_file=token_file,
        username=user.username,
        password=user.password,
        certificate=certificate,
        certificate_file=certificate_file,
        key=key,
        key_file=key_file,
        exec=_plugin(user.exec, config.user, folder, cluster) if user.exec else None,
        impersonation=Impersonation(impersonate or user.impersonate, user.as_uid, tuple(user.as_groups or ()), extra),
    )


def _plugin(plugin: _Exec, user: str, folder: Path, cluster: _Cluster) -> ExecPlugin:
    if not plugin.command:
        raise ConfigError(f"the exec plugin of user {user!r} names no command")
    if plugin.api_version not in EXEC_VERSIONS:
        raise ConfigError(
            f"the exec plugin of user {user!r} has apiVersion {plugin.api_version!r}, which is not one of"
            f" {', '.join(EXEC_VERSIONS)}: update the plugin and write the kubeconfig again"
        )
    mode = plugin.interactive_mode
    if not mode and plugin.api_version.endswith("/v1beta1"):
        mode = "IfAvailable"
    if mode not in INTERACTIVE_MODES:
        raise ConfigError(
            f"the exec plugin of user {user!r} has interactiveMode {mode!r}: it must be one of"
            f" {', '.join(INTERACTIVE_MODES)}"
        )
    return ExecPlugin(
        plugin.api_version,
        _resolved(plugin.command, folder) if os.sep in plugin.command else plugin.command,
        tuple(plugin.args or ()),
        tuple((variable.name, variable.value) for variable in plugin.env or ()),
        mode,
        "".join(letter for letter in plugin.install_hint if letter.isprintable() or letter.isspace()).strip(),
        plugin.provide_cluster_info,
        next((held.extension for held in cluster.extensions or () if held.name == EXEC_EXTENSION), None),
    )


def _server(server: str, cluster: str) -> str:
    if not server.startswith(("https://", "http://")):
        raise ConfigError(f"the server {server!r} of cluster {cluster!r} must start with https:// (or http://)")
    try:
        parts = urlsplit(server)
        usable = bool(parts.hostname) and parts.port != 0 and server.isprintable()
    except ValueError:
        usable = False
    if not usable:
        raise ConfigError(
            f"the server {shown_url(server)!r} of cluster {cluster!r} is no address: it needs a host name"
        )
    return server.rstrip("/")


def _material(data: str, file: str, folder: Path, what: str) -> tuple[bytes, str]:
    """The decoded data, or the path of a file that can be read."""
    if data:
        try:
            return base64.b64decode("".join(data.split()), validate=True), ""
        except ValueError as error:
            raise ConfigError(f"{what}: its -data is not base64 ({error})") from error
    path = _resolved(file, folder)
    if path:
        _readable(path, what)
    return b"", path


def _resolved(file: str, folder: Path) -> str:
    return str(folder / file) if file else ""


def _readable(path: str, what: str) -> None:
    try:
        with Path(path).open("rb"):
            pass
    except OSError as error:
        raise ConfigError(f"{path} cannot be read ({error.strerror}), needed for {what}") from error


def _choice(entries: Mapping[str, object]) -> str:
    return f"are: {', '.join(entries)}" if entries else "is none"
