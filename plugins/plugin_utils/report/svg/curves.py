# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Curves of bandwidth over message size, with limits drawn in, as inline SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

__all__ = ["Bound", "Curve", "bytes_text", "curves"]

WIDTH, HEIGHT = 620, 280
LEFT, RIGHT, TOP, BOTTOM = 56, 14, 12, 34
MOST_TICKS = 9
UNITS = ("B", "K", "M", "G", "T")


@dataclass(frozen=True)
class Curve:
    """``points`` are (bytes, GB/s). ``kind`` is its look: a verdict, ``baseline`` or ``earlier``."""

    points: tuple[tuple[int, float], ...]
    kind: str
    title: str


@dataclass(frozen=True)
class Bound:
    """A limit for messages of ``least`` to ``most`` bytes (None: no end)."""

    value: float
    least: int
    most: int | None
    title: str


def bytes_text(size: float) -> str:
    """16777216 -> 16M. Sizes are powers of two, or nearly."""
    power = 0
    while size >= 1024 and power < len(UNITS) - 1:
        size, power = size / 1024, power + 1
    return f"{size:.4g}{UNITS[power] if power else ' B'}"


@dataclass(frozen=True)
class _Scale:
    least: float
    most: float
    highest: float

    def x(self, size: float) -> float:
        share = (math.log2(max(size, 1)) - self.least) / ((self.most - self.least) or 1)
        return LEFT + min(max(share, 0.0), 1.0) * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        return HEIGHT - BOTTOM - value / self.highest * (HEIGHT - TOP - BOTTOM)


def curves(lines: Sequence[Curve], bounds: Sequence[Bound]) -> Markup:
    sizes = sorted({size for line in lines for size, _value in line.points})
    values = [value for line in lines for _size, value in line.points] + [bound.value for bound in bounds]
    if not sizes or max(values) <= 0:
        return Markup("")
    step = _step(max(values))
    scale = _Scale(math.log2(sizes[0] or 1), math.log2(sizes[-1] or 1), math.ceil(max(values) / step * 1.02) * step)
    # What was measured last lies on top.
    body = _axes(scale, sizes, step) + Markup("").join(_bound(bound, scale) for bound in bounds)
    body += Markup("").join(_curve(line, scale) for line in sorted(lines, key=_order))
    return Markup(
        '<svg class="curves" viewBox="0 0 {} {}" role="img" aria-label="bandwidth over message size">{}</svg>'
    ).format(WIDTH, HEIGHT, body)


def _order(line: Curve) -> int:
    order = ("baseline", "earlier", "OK", "WARN", "UNKNOWN", "FAIL")
    return order.index(line.kind) if line.kind in order else 0


def _step(highest: float) -> float:
    """About five lines, at round figures."""
    rough = highest / 5
    power = 10 ** math.floor(math.log10(rough))
    return next(factor for factor in (1, 2, 5, 10) if factor * power >= rough) * power


def _axes(scale: _Scale, sizes: Sequence[int], step: float) -> Markup:
    bottom = HEIGHT - BOTTOM
    marks = range(round(scale.highest / step) + 1)
    grid = "".join(f"M{LEFT} {scale.y(n * step):.1f}H{WIDTH - RIGHT}" for n in marks)
    parts = [Markup('<path class="grid" d="{}"/>').format(grid)]
    for n in marks:
        y = f"{scale.y(n * step) + 4:.1f}"
        parts.append(Markup('<text x="{}" y="{}" text-anchor="end">{:g}</text>').format(LEFT - 6, y, n * step))
    for size in sizes[:: -(-len(sizes) // MOST_TICKS)]:
        parts.append(
            Markup('<text x="{:.1f}" y="{}" text-anchor="middle">{}</text>').format(
                scale.x(size), bottom + 16, bytes_text(size)
            )
        )
    parts.append(Markup('<text x="{}" y="{}" text-anchor="end">message size</text>').format(WIDTH - RIGHT, HEIGHT - 4))
    parts.append(Markup('<text x="4" y="{}">GB/s</text>').format(HEIGHT - 4))
    return Markup("").join(parts)


def _bound(bound: Bound, scale: _Scale) -> Markup:
    start, end = scale.x(bound.least), scale.x(bound.most or 2**scale.most)
    # A limit for one size is a short line there.
    start, end = (start, end) if end - start >= 16 else (max(LEFT, end - 24), min(WIDTH - RIGHT, end + 8))
    return Markup('<path class="k-limit" d="M{:.1f} {:.1f}H{:.1f}"><title>{}</title></path>').format(
        start, scale.y(bound.value), end, bound.title
    )


def _curve(line: Curve, scale: _Scale) -> Markup:
    places = [(scale.x(size), scale.y(value)) for size, value in line.points]
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    title = Markup("<title>{}</title>").format(line.title)
    drawn = Markup('<path class="k-{}" d="{}">{}</path>').format(line.kind, path, title)
    if line.kind in ("baseline", "earlier"):
        return drawn
    return drawn + Markup("").join(
        Markup('<circle class="k-{}" cx="{:.1f}" cy="{:.1f}" r="3"><title>{}: {} {:g} GB/s</title></circle>').format(
            line.kind, x, y, line.title, bytes_text(size), value
        )
        for (x, y), (size, value) in zip(places, line.points, strict=True)
    )
