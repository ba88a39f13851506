"""Options that commands share: which cluster, in whose name, which namespaces, which form of output."""

from __future__ import annotations

import argparse


def add_cluster(
    parser: argparse.ArgumentParser,
    *,
    several_namespaces: bool = False,
    all_namespaces: bool = True,
    about: str = "namespace to serve; may be repeated; default all of them",
) -> None:
    """`--kubeconfig --context --as -n -A`; afterwards `namespace` is a list, empty when not given.

    A command about one object has no `-A`; one for several namespaces serves all of them unless it is told otherwise,
    and `about` says so.
    """
    group = parser.add_argument_group("cluster")
    group.add_argument("--kubeconfig", metavar="FILE", default="", help="kubeconfig file; default as for kubectl")
    group.add_argument("--context", metavar="NAME", default="", help="context of the kubeconfig; default the current")
    group.add_argument("--as", dest="impersonate", metavar="USER", default="", help="act in the name of this user")
    if not several_namespaces:
        about = f"namespace{' to look at' * all_namespaces}; default that of the context"
    group.add_argument(
        "-n",
        "--namespace",
        metavar="NAME",
        action="append",
        default=[],
        help=about,
    )
    if all_namespaces:
        everywhere = "serve all namespaces, the default" if several_namespaces else "look at all namespaces"
        group.add_argument("-A", "--all-namespaces", action="store_true", help=everywhere)
    else:
        parser.set_defaults(all_namespaces=False)
    parser.set_defaults(several_namespaces=several_namespaces, one_object=not all_namespaces)


def add_output(parser: argparse.ArgumentParser, *forms: str) -> None:
    """`-o`, with the forms this command has."""
    parser.add_argument("-o", "--output", choices=forms, default="", help="form of the output; default for people")


def wrong_namespaces(arguments: argparse.Namespace) -> str:
    """What is wrong with the choice of namespaces, empty when nothing is."""
    given = arguments.namespace
    if given and arguments.all_namespaces:
        return "-n and -A exclude each other: choose namespaces or all of them"
    if "" in given:
        return "-n needs the name of a namespace: use -A for all of them"
    if len(given) > 1 and not arguments.several_namespaces:
        everywhere = "" if arguments.one_object else ", or -A for all of them"
        return f"-n is given more than once: choose one namespace{everywhere}"
    return ""
