"""Diagram of the lifecycle of a maintenance operation, drawn from the transition table.

Run by `scripts/reference`; a test fails if the diagram is out of date.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from forewarn.core.lifecycle.model import Phase
from forewarn.core.lifecycle.transitions import TRANSITIONS

FILE = Path(__file__).parent / "explanation" / "lifecycle.svg"

_WIDTH, _HEIGHT = 960, 410
_BOX_WIDTH, _BOX_HEIGHT = 170, 66
_MARGIN = 24  # px around what VMs see
_LINE = 18  # px line height


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """Position and look of a phase."""

    x: int  # of the center
    y: int
    color: str
    note: str


SPOTS: Mapping[Phase, Spot] = {
    Phase.SCHEDULED: Spot(x=132, y=168, color="#b7791f", note="EventStatus Scheduled"),
    Phase.STARTED: Spot(x=478, y=168, color="#2b6cb0", note="EventStatus Started"),
    Phase.COMPLETED: Spot(x=842, y=168, color="#2f855a", note="event gone"),
    Phase.CANCELED: Spot(x=132, y=346, color="#718096", note="event gone"),
    Phase.FAILED: Spot(x=478, y=346, color="#c53030", note="event gone"),
}

LABELS: Mapping[tuple[Phase, Phase], Sequence[str]] = {
    (Phase.SCHEDULED, Phase.STARTED): (
        "approved by all,",
        "or NotBefore reached;",
        "and not blocked",
    ),
    (Phase.SCHEDULED, Phase.CANCELED): (
        "canceled,",
        "or all events withdrawn",
    ),
    (Phase.STARTED, Phase.COMPLETED): ("work done,", "and shown", "long enough"),
    (Phase.STARTED, Phase.FAILED): ("stuck,", "and closed"),
}

_STYLE = """\
    .paper { fill: #ffffff; stroke: #d5d9e0; }
    .wire { fill: #f3f6fb; stroke: #9aa5b5; stroke-dasharray: 5 5; }
    .arrow { fill: none; stroke: #4a5568; stroke-width: 1.8; }
    .tip, .begin { fill: #4a5568; }
    text { font: 14px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; }
    text { fill: #2d3748; text-anchor: middle; }
    .beside { text-anchor: start; }
    .caption { fill: #5f6b7c; font-style: italic; text-anchor: end; }
    .phase, .note { fill: #ffffff; }
    .phase { font-weight: 700; letter-spacing: 0.06em; }
    .note { font-size: 12.5px; }
    @media (prefers-color-scheme: dark) {
      .paper { fill: #161b22; stroke: #30363d; }
      .wire { fill: #1d242e; stroke: #66707d; }
      .arrow { stroke: #aab4c0; }
      .tip, .begin { fill: #aab4c0; }
      text { fill: #dde3ea; }
      .caption { fill: #9aa5b1; }
      .phase, .note { fill: #ffffff; }
    }"""


def diagram() -> str:
    """Return the diagram as SVG."""
    return "\n".join((*_head(), *_wire(), *_begin(), *_arrows(), *_boxes(), "</svg>\n"))


def _head() -> Iterator[str]:
    size = f'width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
    yield f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">'
    yield "  <!-- Made by scripts/reference; do not edit. -->"
    yield "  <title>Lifecycle of a maintenance operation</title>"
    yield f"  <style>\n{_STYLE}\n  </style>"
    yield '  <defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5"'
    yield '    markerWidth="7" markerHeight="7" orient="auto-start-reverse">'
    yield '    <path class="tip" d="M 0 0.5 L 10 5 L 0 9.5 z"/></marker></defs>'
    yield f'  <rect class="paper" x="0.5" y="0.5" width="{_WIDTH - 1}"'
    yield f'    height="{_HEIGHT - 1}" rx="12"/>'


def _wire() -> Iterator[str]:
    """Frame the phases that VMs can see."""
    visible = [spot for phase, spot in SPOTS.items() if phase.is_live]
    left = min(spot.x for spot in visible) - _BOX_WIDTH // 2 - _MARGIN
    right = max(spot.x for spot in visible) + _BOX_WIDTH // 2 + _MARGIN
    top = min(spot.y for spot in visible) - _BOX_HEIGHT // 2 - 2 * _MARGIN
    bottom = max(spot.y for spot in visible) + _BOX_HEIGHT // 2 + _MARGIN
    yield f'  <rect class="wire" x="{left}" y="{top}" width="{right - left}"'
    yield f'    height="{bottom - top}" rx="12"/>'
    yield _text("visible to VMs", right - _MARGIN, top + 28, "caption")


def _begin() -> Iterator[str]:
    spot = SPOTS[Phase.SCHEDULED]
    y = 34
    yield f'  <circle class="begin" cx="{spot.x}" cy="{y}" r="6"/>'
    yield from _arrow(f"M {spot.x} {y + 6} V {spot.y - _BOX_HEIGHT // 2 - 3}")
    yield _text("announced", spot.x + 14, y + 26, "beside")


def _arrows() -> Iterator[str]:
    for before, targets in TRANSITIONS.items():
        for after in sorted(targets):
            yield from _transition(before, after)


def _transition(before: Phase, after: Phase) -> Iterator[str]:
    """Draw an arrow to the right or down, with its label above or next to it."""
    source, target, label = SPOTS[before], SPOTS[after], LABELS[before, after]
    data = f' data-from="{before}" data-to="{after}"'
    if source.y == target.y:
        start, end = source.x + _BOX_WIDTH // 2, target.x - _BOX_WIDTH // 2 - 3
        yield from _arrow(f"M {start} {source.y} H {end}", data)
        top = source.y - 10 - (len(label) - 1) * _LINE
        edge = start if after.is_live else start + _MARGIN  # of the frame
        yield from _lines(label, (edge + end) // 2, top)
    else:
        start, end = source.y + _BOX_HEIGHT // 2, target.y - _BOX_HEIGHT // 2 - 3
        yield from _arrow(f"M {source.x} {start} V {end}", data)
        top = (start + _MARGIN + end) // 2 - (len(label) - 1) * _LINE // 2 + 5
        yield from _lines(label, source.x + 14, top, "beside")


def _boxes() -> Iterator[str]:
    for phase, spot in SPOTS.items():
        left, top = spot.x - _BOX_WIDTH // 2, spot.y - _BOX_HEIGHT // 2
        yield f'  <rect fill="{spot.color}" x="{left}" y="{top}"'
        yield f'    width="{_BOX_WIDTH}" height="{_BOX_HEIGHT}" rx="9"/>'
        yield _text(phase, spot.x, spot.y - 3, "phase")
        yield _text(spot.note, spot.x, spot.y + 18, "note")


def _arrow(path: str, data: str = "") -> Iterator[str]:
    yield f'  <path class="arrow" marker-end="url(#tip)"{data} d="{path}"/>'


def _lines(lines: Sequence[str], x: int, y: int, kind: str = "label") -> Iterator[str]:
    for number, line in enumerate(lines):
        yield _text(line, x, y + number * _LINE, kind)


def _text(text: str, x: int, y: int, kind: str) -> str:
    return f'  <text class="{kind}" x="{x}" y="{y}">{escape(text)}</text>'


if __name__ == "__main__":
    FILE.write_text(diagram())
