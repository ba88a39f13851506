"""Completion as scripts of three shells; what they know is written into them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairlead.cli.commands.completion import CompletedCommand, Option

PROGRAMS = ("fairlead", "kubectl-fairlead")

BASH = """\
# Completion of fairlead for bash: source <(fairlead completion bash)
_fairlead() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} words=""
    # Bash takes --option=value apart, at the sign.
    if [[ $current == "=" ]]; then current=""
    elif [[ $before == "=" ]]; then before=${{COMP_WORDS[COMP_CWORD-2]}}
    fi
    COMPREPLY=()
    if (( COMP_CWORD == 1 )); then
        COMPREPLY=($(compgen -W "{commands}" -- "$current"))
        return
    fi
    case "${{COMP_WORDS[1]}} $before" in
{values}
    esac
    case "${{COMP_WORDS[1]}}" in
{options}
    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -F _fairlead {programs}
"""


def bash(commands: Sequence[CompletedCommand]) -> str:
    values, options = [], []
    for command in commands:
        for option in command.options:
            if option.takes:
                pattern = "|".join(f'"{command.name} {name}"' for name in option.names)
                values.append(f"        {pattern}) {_bash_values(option)}return ;;")
        words = [*command.words, *(name for option in command.options for name in option.names)]
        options.append(f'        {command.name}) words="{" ".join(words)}" ;;')
    return BASH.format(
        commands=" ".join(command.name for command in commands),
        values="\n".join(values),
        options="\n".join(options),
        programs=" ".join(PROGRAMS),
    )


def _bash_values(option: Option) -> str:
    match option.takes:
        case "file":
            return 'COMPREPLY=($(compgen -f -- "$current")); '
        case "folder":
            return 'COMPREPLY=($(compgen -d -- "$current")); '
    return f'COMPREPLY=($(compgen -W "{" ".join(option.values)}" -- "$current")); ' if option.values else ""


ZSH = """\
#compdef {programs}
# Completion of fairlead for zsh: source <(fairlead completion zsh), after compinit
_fairlead() {{
    local -a commands=(
{commands}
    )
    if (( CURRENT == 2 )); then
        _describe command commands
        return
    fi
    local command=$words[2]
    shift words
    (( CURRENT-- ))
    case $command in
{options}
    esac
}}
compdef _fairlead {programs}
"""


def zsh(commands: Sequence[CompletedCommand]) -> str:
    return ZSH.format(
        programs=" ".join(PROGRAMS),
        commands="\n".join(f"        {_quoted(f'{command.name}:{command.help}')}" for command in commands),
        options="\n".join(f"        {command.name}) _arguments -s {_zsh_words(command)} ;;" for command in commands),
    )


def _zsh_words(command: CompletedCommand) -> str:
    words = [_quoted(spec) for option in command.options for spec in _zsh_option(option)]
    if command.words:
        words.append(_quoted(f"1:word:({' '.join(command.words)})"))
    return " ".join(words)


def _zsh_option(option: Option) -> Iterator[str]:
    help_text = _escaped(option.help, "[]:\\")
    for name in option.names:
        sign = "=" if option.takes and name.startswith("--") else ""
        yield f"*{name}{sign}[{help_text}]{_zsh_values(option)}"


def _zsh_values(option: Option) -> str:
    match option.takes:
        case "":
            return ""
        case "file":
            return ":file:_files"
        case "folder":
            return ":folder:_files -/"
    return f":value:({' '.join(option.values)})" if option.values else ":value: "


def fish(commands: Sequence[CompletedCommand]) -> str:
    lines = ["# Completion of fairlead for fish: fairlead completion fish | source"]
    for program in PROGRAMS:
        lines.append(f"complete -c {program} -f")
        for command in commands:
            lines.append(f"complete -c {program} -n __fish_use_subcommand -a {command.name} -d {_fish(command.help)}")
            lines += _fish_options(f"complete -c {program} -n '__fish_seen_subcommand_from {command.name}'", command)
    return "\n".join(lines) + "\n"


def _fish_options(start: str, command: CompletedCommand) -> Iterator[str]:
    if command.words:
        yield f"{start} -a {_fish(' '.join(command.words))}"
    for option in command.options:
        names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
        yield f"{start} {names}{_fish_values(option)} -d {_fish(option.help)}"


def _fish_values(option: Option) -> str:
    match option.takes:
        case "":
            return ""
        case "file":
            return " -r -F"
        case "folder":
            return " -x -a '(__fish_complete_directories)'"
    return f" -x -a {_fish(' '.join(option.values))}" if option.values else " -x"


def _quoted(text: str) -> str:
    """One word for a POSIX shell."""
    return "'" + text.replace("'", "'\\''") + "'"


def _fish(text: str) -> str:
    return "'" + _escaped(text, "\\'") + "'"


def _escaped(text: str, special: Iterable[str]) -> str:
    return "".join(f"\\{character}" if character in special else character for character in text)
