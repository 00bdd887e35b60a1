# SPDX-License-Identifier: Apache-2.0
"""A machine's network as a picture: one SVG, filled dots for endpoints, squares for switches, a line for each link.

Nodes stand where the topology says (`Topology::position`), seen from the front and a little from the side and above.
Links that pass other nodes on their way, e.g. those that close a torus' rings, are bent, so that they can be
distinguished. Limit: MOST_LINKS; nobody can see more.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from exanet.errors import InputError

Place = tuple[float, float]
"""Right and down, in the picture's units."""

MOST_LINKS = 8192
"""Links of a network that can be drawn, each direction for itself."""

_WIDTH, _HEIGHT, _MARGIN = 900.0, 640.0, 30.0
_TINTS = ("#4477aa", "#cc6677", "#117733")  # of link classes, in the order of the machine's kinds of links
_DEPTH = (0.42, 0.30)  # what a unit of z moves to the right and up
_SAG = 0.12  # of a bent line's length: how far beside its middle the point lies towards which it is drawn
_BENT = 1.5  # links longer than this many of the shortest ones in their direction


def svg(name: str, machine: dict[str, Any]) -> str:
    """The picture of a resolved machine; the same machine gives the same text. Raises InputError where it has too
    many links to draw."""
    from exanet import _core

    needs = _core.topology_needs(machine["topology"])
    if needs["nodes"] > MOST_LINKS:
        raise _too_large(name, f"{needs['nodes']} nodes")
    drawn = _core.topology_drawing(machine)
    ends = [(int(a), int(b)) for a, b in drawn["links"]]
    if len(ends) > MOST_LINKS:
        raise _too_large(name, f"{len(ends) // 2} links")
    places = _fitted([(float(x) + _DEPTH[0] * float(z), -float(y) - _DEPTH[1] * float(z)) for x, y, z in drawn["position"]])
    classes = {(min(pair), max(pair)): int(number) for pair, number in zip(ends, drawn["link_class"], strict=True)}
    together = Counter((min(pair), max(pair)) for pair in ends)
    bent = _bent(places, together)
    if bent:
        places = _fitted(places, [_bend(places[a], places[b], _SAG / 2) for a, b in bent])
    short = min((math.dist(places[a], places[b]) for a, b in together), default=1.0)
    kinds = [link["name"] for link in machine["links"]]
    lines = [
        _line(places[a], places[b], (a, b) in bent, _TINTS[classes[a, b] % len(_TINTS)], directed // 2)
        for (a, b), directed in sorted(together.items())
    ]
    size = max(1.5, min(7.0, 0.22 * short))
    names, endpoints = list(drawn["node_name"]), int(drawn["endpoints"])
    marks = [_mark(place, size, names[node], node < endpoints) for node, place in enumerate(places)]
    legend = [
        f'<text x="{_MARGIN + 120 * i:.0f}" y="{_HEIGHT - 8:.0f}" fill="{_TINTS[i % len(_TINTS)]}">{escape(kind)}</text>'
        for i, kind in enumerate(kinds)
    ]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}" font-family="sans-serif" font-size="12">'
        f"<title>{escape(name)}</title>"
        f'<rect width="100%" height="100%" fill="#ffffff"/><g fill="none" stroke-opacity="0.7">'
    )
    return "\n".join([head, *lines, "</g>", *marks, *legend, "</svg>", ""])


def _too_large(name: str, what: str) -> InputError:
    return InputError(f"{name} has {what}, too many to draw: draw a smaller shape of it, e.g. --topology dragonfly:2")


def _fitted(places: list[Place], beside: Sequence[Place] = ()) -> list[Place]:
    """The same places, as large as they and those `beside` them fit into the picture, in its middle."""
    all_x, all_y = zip(*places, *beside, strict=True)
    left, top = min(all_x), min(all_y)
    wide, high = max(all_x) - left, max(all_y) - top
    scale_x, scale_y = (_WIDTH - 2 * _MARGIN) / (wide or 1), (_HEIGHT - 2 * _MARGIN) / (high or 1)
    if max(scale_x, scale_y) < 8 * min(
        scale_x, scale_y
    ):  # a flat row, such as that of a large tree, is stretched; all else keeps its angles
        scale_x = scale_y = min(scale_x, scale_y)
    shift_x, shift_y = (_WIDTH - wide * scale_x) / 2, (_HEIGHT - high * scale_y) / 2
    return [((x - left) * scale_x + shift_x, (y - top) * scale_y + shift_y) for x, y in places]


def _bent(places: list[Place], links: Iterable[tuple[int, int]]) -> set[tuple[int, int]]:
    """The links that pass other nodes: those much longer than the shortest ones in their direction."""
    lengths = {(a, b): math.dist(places[a], places[b]) for a, b in links}
    directions = {(a, b): _direction(places[a], places[b]) for a, b in lengths}
    shortest: dict[Place, float] = {}
    for pair, direction in directions.items():
        shortest[direction] = min(lengths[pair], shortest.get(direction, math.inf))
    return {pair for pair, length in lengths.items() if length > _BENT * shortest[directions[pair]]}


def _bend(start: Place, end: Place, sag: float) -> Place:
    """Beside the middle of a line, by this share of its length. With _SAG, what a bent line is drawn to; it comes
    half as far."""
    (x, y), (to_x, to_y) = start, end
    return (x + to_x) / 2 - sag * (to_y - y), (y + to_y) / 2 + sag * (to_x - x)


def _direction(start: Place, end: Place) -> Place:
    """The unit vector between two places, the same both ways."""
    length = math.dist(start, end) or 1.0
    x, y = round((end[0] - start[0]) / length, 3), round((end[1] - start[1]) / length, 3)
    return (x, y) if (x, y) > (0, 0) else (-x, -y)


def _line(start: Place, end: Place, bent: bool, tint: str, links: int) -> str:
    (x, y), (to_x, to_y) = start, end
    by_x, by_y = _bend(start, end, _SAG)
    way = f"Q{by_x:.1f} {by_y:.1f} {to_x:.1f} {to_y:.1f}" if bent else f"L{to_x:.1f} {to_y:.1f}"
    return f'<path d="M{x:.1f} {y:.1f}{way}" stroke="{tint}" stroke-width="{0.8 * max(links, 1):.1f}"/>'


def _mark(place: Place, size: float, name: str, endpoint: bool) -> str:
    x, y = place
    said = f"<title>{escape(name)}</title>"
    if endpoint:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size:.1f}" fill="#222222">{said}</circle>'
    corner = 1.2 * size
    return (
        f'<rect x="{x - corner:.1f}" y="{y - corner:.1f}" width="{2 * corner:.1f}" height="{2 * corner:.1f}" fill="#ffffff" '
        f'stroke="#222222">{said}</rect>'
    )
