# SPDX-License-Identifier: Apache-2.0
"""Names that the simulator knows, for keys of machine files: those of its registries and of its configuration."""

from __future__ import annotations

from typing import Any

from exanet import _core
from exanet.machine.constant import OneOf

REGISTRIES: dict[str, list[dict[str, Any]]] = _core.registries()
_KEYS: dict[str, dict[str, Any]] = _core.configuration_keys()


def names_of(registry: str) -> OneOf:
    """The names of a registry's entries."""
    return OneOf([entry["name"] for entry in REGISTRIES[registry]])


def helps_of(registry: str) -> str:
    """The names of a registry's entries, each with what it is."""
    return "; ".join(f"{entry['name']}: {entry['help']}" for entry in REGISTRIES[registry])


def choice_of(key: str) -> OneOf:
    """The names that the simulator knows for this key of its configuration."""
    return OneOf(_KEYS[key]["choices"])
