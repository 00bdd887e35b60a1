# SPDX-License-Identifier: Apache-2.0
"""Values of options without pydantic, which takes longer to import than a command line to read.

Typer (0.27 and later) converts each value, also a default, by a validator of pydantic. Most need none: a text is a
text, and a number in digits is that number. Whatever is not so plain, and all that is wrong, goes to Typer's validator,
which has the messages. With other versions of Typer nothing changes.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, get_args, get_origin

_WHOLE = re.compile(r"-?[0-9]{1,15}")
_REAL = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?")
_NOT_PLAIN = object()


def convert_plainly(parameters: list[Any]) -> None:
    """Has the plain values of these parameters of a command converted here."""
    for parameter in parameters:
        if getattr(parameter, "_runtime_param", parameter) is None and hasattr(parameter, "type_descriptor"):
            parameter._runtime_param = _Plain()


class _Plain:
    """In the place of a parameter's validator (typer._coercion.RuntimeParam)."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        several = param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        descriptor = param.type_descriptor
        made = _converted(value, descriptor.annotation, descriptor.parameter_info)
        if made is not _NOT_PLAIN and several == isinstance(made, list):
            return made
        param._runtime_param = None
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)


def _converted(value: Any, annotation: Any, info: Any) -> Any:
    """The value, of that type; _NOT_PLAIN where that is for Typer to say."""
    if get_origin(annotation) is list and isinstance(value, list | tuple):
        made = [_converted(each, get_args(annotation)[0], info) for each in value]
        return _NOT_PLAIN if any(each is _NOT_PLAIN for each in made) else made
    if info.parser is not None:
        try:
            return info.parser(value)
        except (ValueError, AssertionError):  # those that a validator makes a message of
            return _NOT_PLAIN
    if annotation is str and type(value) is str:
        return value
    if annotation is int and info.min is None and info.max is None:
        return value if type(value) is int else int(value) if type(value) is str and _WHOLE.fullmatch(value) else _NOT_PLAIN
    if annotation is float and info.min is None and info.max is None:
        return value if type(value) is float else float(value) if type(value) is str and _REAL.fullmatch(value) else _NOT_PLAIN
    if annotation is Path and type(value) is str and _has_no_conditions(info):
        return Path(value) if os.access(value, os.R_OK) or not os.path.exists(value) else _NOT_PLAIN
    return _NOT_PLAIN


def _has_no_conditions(info: Any) -> bool:
    """Whether a path may be of anything that can be read, or of nothing."""
    conditions = info.exists or info.writable or info.resolve_path or info.allow_dash or info.path_type is not None
    return not conditions and info.file_okay and info.dir_okay
