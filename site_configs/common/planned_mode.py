# SPDX-License-Identifier: Apache-2.0
"""A mode for ReFrame that runs some tests again as earlier sessions ran them."""

import argparse
import re
import shlex

from .frame import MODES

# Options that say how tests run. All others select tests, or name files of the session.
ONCE = ("--max-retries", "--exec-policy")
MANY = (
    ("-S", "--setvar"),
    ("-P", "--parameterize"),
    ("-J", "--job-option"),
    ("-p", "--prgenv"),
    ("-m", "--module"),
    ("-M", "--map-module"),
)
OF_A_CHECK = ("-S", "-P")  # which may begin with the name of a check and a dot


class ModeError(Exception):
    """Tests that no single mode can run; one sentence with the remedy."""


def parsed(words):
    """What a command line states of these options."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    for short, long in MANY:
        parser.add_argument(short, long, action="append", default=[], dest=short)
    for option in (*ONCE, "--mode"):
        parser.add_argument(option, dest=option)
    try:
        return vars(parser.parse_known_args(words)[0])
    except (argparse.ArgumentError, SystemExit):
        return parsed([])


def kept(command, checks):
    """The options of a session's command line, and of its mode, that concern these checks; and the name of a mode that
    is not one of coffeecup's, whose options are unknown."""
    try:
        stated = parsed(shlex.split(command)[1:])
    except ValueError:  # a quote without its end, in a line that ReFrame did not write
        stated = parsed([])
    mode = stated["--mode"]
    of_mode = parsed(shlex.split(" ".join(MODES.get(mode, []))))
    options = []
    for short, _ in MANY:
        own = [value for value in (*of_mode[short], *stated[short]) if concerns(short, value, checks)]
        options += [f"{short} {shlex.quote(value)}" for value in dict.fromkeys(own)]
    options += [f"{name}={shlex.quote(value)}" for name in ONCE if (value := stated[name] or of_mode[name])]
    return options, "" if mode is None or mode in MODES else mode


def concerns(option, value, checks):
    name = re.split("[=:]", value)[0]
    return option not in OF_A_CHECK or "." not in name or name.partition(".")[0] in checks


def mode(name, tests, repeats):
    """(mode, names of unknown modes): a mode, as ReFrame's configuration contains it, that runs so many repeats of each
    of `tests`, pairs of a test's name and the command line of a session that ran it. Raises ModeError."""
    options, unknown, values = [], [], {}
    for test, command in tests:
        own, foreign = kept(command, {test.split(" %")[0]})
        unknown += [foreign] if foreign else []
        for option in own:
            key, _, value = option.partition("=")
            if option.startswith("-S") and values.setdefault(key, value) != value:
                raise ModeError(
                    f"the tests ran with different values of {key.removeprefix('-S ')!r}, {values[key]} and {value}: "
                    "leave out the sessions of one of them (--since, --benchmark)"
                )
        options += own
    patterns = [re.escape(test.replace(" ", "")) for test, _ in tests]  # as ReFrame compares names
    names = [f"-n {shlex.quote(f'^{pattern}$')}" for pattern in patterns]
    content = {"name": name, "options": [*names, f"--repeat={repeats}", *dict.fromkeys(options)]}
    return content, list(dict.fromkeys(unknown))
