# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A heat map of pairs as inline SVG. Colours and patterns come from the page's style sheet, by state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

__all__ = ["Mark", "heatmap"]

# Up to so many rows -> edge of a cell in pixels.
EDGES = ((8, 48), (12, 40), (24, 26), (40, 18), (100, 10), (1000, 6))
# Cells of this size carry their text.
TEXT_EDGE = 40
FONT = 11
# Pixels across a printed page: a wider map is made smaller there.
PAPER = 680
LABEL_LENGTH = 24


@dataclass(frozen=True)
class Mark:
    """A cell that is drawn; cells without one are good. ``title`` is shown on a long look."""

    row: int
    column: int
    state: str
    text: str
    title: str


@dataclass(frozen=True)
class _Run:
    """Neighbours in a row that say the same: one element instead of many."""

    mark: Mark
    length: int


def heatmap(labels: Sequence[str], marks: Sequence[Mark], diagonal: bool) -> Markup:
    """Two pictures side by side: the row labels, which stay in view, and the matrix, which scrolls."""
    edge = next((pixels for count, pixels in EDGES if len(labels) <= count), EDGES[-1][1])
    top = int(max((len(_short(label)) for label in labels), default=0) * FONT * 0.44) + 14
    left = int(max((len(_short(label)) for label in labels), default=0) * FONT * 0.62) + 8
    shrink = min(1.0, PAPER / (left + len(labels) * edge + top))
    return Markup('<div class="heatmap" style="--print:{:.3f}">{}{}</div>').format(
        shrink, _row_labels(labels, edge, top, left), _matrix(labels, marks, edge, top, diagonal)
    )


def _short(label: str) -> str:
    return label if len(label) <= LABEL_LENGTH else label[: LABEL_LENGTH - 1] + "…"


def _named(count: int, edge: int) -> range:
    """Labels that have room."""
    return range(0, count, -(-(FONT + 2) // edge))


def _row_labels(labels: Sequence[str], edge: int, top: int, width: int) -> Markup:
    height = top + len(labels) * edge
    texts = Markup("").join(
        Markup('<text x="{}" y="{:g}" text-anchor="end">{}</text>').format(
            width - 6, top + number * edge + edge / 2 + FONT * 0.36, _short(labels[number])
        )
        for number in _named(len(labels), edge)
    )
    return Markup(
        '<svg class="rows" width="{0}" height="{1}" viewBox="0 0 {0} {1}" aria-hidden="true">{2}</svg>'
    ).format(width, height, texts)


def _matrix(labels: Sequence[str], marks: Sequence[Mark], edge: int, top: int, diagonal: bool) -> Markup:
    side = len(labels) * edge
    width, height = side + top, top + side
    columns = Markup("").join(
        Markup('<text transform="translate({:g},{}) rotate(-45)">{}</text>').format(
            number * edge + edge / 2 + FONT * 0.36, top - 6, _short(labels[number])
        )
        for number in _named(len(labels), edge)
    )
    body = Markup('<rect class="s-ok" y="{}" width="{}" height="{}"/>').format(top, side, side)
    body += Markup("").join(_cell(run, labels, edge, top) for run in _runs(marks, edge))
    if diagonal:
        steps = "".join(f"M{n * edge} {top + n * edge}h{edge}v{edge}h-{edge}z" for n in range(len(labels)))
        body += Markup('<path class="s-self" d="{}"/>').format(steps)
    lines = "".join(f"M0 {top + n * edge}H{side}M{n * edge} {top}V{top + side}" for n in range(len(labels) + 1))
    body += Markup('<path class="lines" d="{}"/>').format(lines)
    if edge >= TEXT_EDGE:
        body += Markup("").join(_text(mark, edge, top) for mark in marks if mark.text)
    return Markup(
        '<svg class="matrix" width="{0}" height="{1}" viewBox="0 0 {0} {1}" role="img" aria-label="heat map of pairs">'
        "{2}{3}</svg>"
    ).format(width, height, columns, body)


def _runs(marks: Sequence[Mark], edge: int) -> list[_Run]:
    """In large maps, marks of one row that touch and are alike become one run."""
    runs: list[_Run] = []
    for mark in marks:
        last = runs[-1] if runs else None
        follows = last and last.mark.row == mark.row and last.mark.column + last.length == mark.column
        if last and follows and edge < 18 and (last.mark.state, last.mark.title) == (mark.state, mark.title):
            runs[-1] = _Run(last.mark, last.length + 1)
        else:
            runs.append(_Run(mark, 1))
    return runs


def _cell(run: _Run, labels: Sequence[str], edge: int, top: int) -> Markup:
    mark = run.mark
    to = labels[mark.column] + (f" … {labels[mark.column + run.length - 1]}" if run.length > 1 else "")
    title = f"{labels[mark.row]} → {to}: {mark.title}"
    return Markup('<rect class="s-{}" x="{}" y="{}" width="{}" height="{}"><title>{}</title></rect>').format(
        mark.state, mark.column * edge, top + mark.row * edge, run.length * edge, edge, escape(title)
    )


def _text(mark: Mark, edge: int, top: int) -> Markup:
    x, y = mark.column * edge + edge / 2, top + mark.row * edge + edge / 2 + FONT * 0.36
    return Markup('<text class="t-{}" x="{:g}" y="{:g}" text-anchor="middle">{}</text>').format(
        mark.state, x, y, mark.text
    )
