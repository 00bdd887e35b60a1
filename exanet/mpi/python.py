# SPDX-License-Identifier: Apache-2.0
"""What a Python interpreter is to run, by its command line: a script, a module, or code that is given there.

The interpreter itself reports a script that is missing, but only once for each rank, after the run has started. Limits:
modules are not looked for, since that depends on the interpreter's own path.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from exanet.errors import InputError

_INTERPRETER = re.compile(r"python[\d.]*")


def is_interpreter(word: str) -> bool:
    """Whether the word names a Python interpreter."""
    return bool(_INTERPRETER.fullmatch(Path(word).name))


def what(command: Sequence[str]) -> tuple[str, str]:
    """What `python ARGUMENTS...` runs, as ("script", path), ("module", name), or ("", "") for code and for the standard
    input."""
    words = iter(command[1:])
    for word in words:
        if word == "--check-hash-based-pycs":
            next(words, "")
        elif word.startswith("--"):
            continue
        elif not word.startswith("-"):
            return "script", word
        else:
            # Short options stand in groups. The first of these four takes the rest of its word, else the next word.
            option, value = next(((letter, word[at:]) for at, letter in enumerate(word, 1) if letter in "cmWX"), ("", ""))
            if option == "c" or word == "-":
                return "", ""
            if option == "m":
                return "module", value or next(words, "")
            if option and not value:
                next(words, "")
    return "", ""


def check_script(command: Sequence[str]) -> None:
    """Raises InputError where `python ARGUMENTS...` names a script that is not there."""
    kind, name = what(command)
    if kind != "script":
        return
    path = Path(name)
    if path.is_dir() and not (path / "__main__.py").is_file():
        raise InputError(f"script {name!r} is a directory without __main__.py; give the script inside it")
    if not path.exists():
        raise InputError(f"script {name!r} is missing: there is no such file; check its name, or give its path")
