# SPDX-License-Identifier: MIT
"""Draws the results of scripts/bench: a line for each ratio, with marks for the ratio and its
target, and the number. The scale is logarithmic: twice as fast is as far from 1 as half as fast.
The colours are for a light or a dark page, by the reader's setting."""
import math
from xml.sax.saxutils import escape

LEAST, MOST = 0.05, 20  # of the axis; results beyond it have their mark at the edge
LEFT, RIGHT, WIDTH = 468, 100, 978
TOP, LINE = 64, 22
TICKS = (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20)

# The colours of each kind of element: on a light page, and on a dark one.
COLOURS = {
    "page": ("fill:#ffffff", "fill:#0d1117"),
    "ink": ("fill:#1f2328", "fill:#e6edf3"),
    "tick": ("stroke:#d1d9e0", "stroke:#3d444d"),
    "one": ("stroke:#59636e", "stroke:#9198a1"),
    "target": ("stroke:#1f2328", "stroke:#e6edf3"),
    "yes": ("stroke:#1a7f37;fill:#1a7f37", "stroke:#3fb950;fill:#3fb950"),
    "no": ("stroke:#bc4c00;fill:#ffffff", "stroke:#f0883e;fill:#0d1117"),
    "none": ("stroke:#59636e;fill:#59636e", "stroke:#9198a1;fill:#9198a1"),
}


def style():
    """Returns the style rules, without CSS variables, which not all viewers of SVG support."""
    rules = [" ".join(f".{kind}{{{colours[dark]}}}" for kind, colours in COLOURS.items())
             for dark in (0, 1)]
    return (f"svg{{font:13px sans-serif}} .number{{font-weight:bold}} .bar{{stroke-width:4}} "
            f".mark,.one,.target{{stroke-width:2}}\n{rules[0]}\n"
            f"@media (prefers-color-scheme: dark){{{rules[1]}}}")


def place(ratio):
    """Returns the x of a ratio."""
    inside = min(max(ratio, LEAST), MOST)
    part = math.log(inside / LEAST) / math.log(MOST / LEAST)
    return round(LEFT + part * (WIDTH - LEFT - RIGHT), 2)


def number(ratio):
    return f"{ratio:.0f}" if ratio >= 100 else f"{ratio:.1f}" if ratio >= 10 else f"{ratio:.2f}"


def text(x, y, words, *, bold=False, anchor="start"):
    kind = "ink number" if bold else "ink"
    return f'<text class="{kind}" x="{x}" y="{y}" text-anchor="{anchor}">{escape(words)}</text>'


def stroke(kind, x1, y1, x2, y2):
    return f'<line class="{kind}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>'


def axis(bottom):
    out = []
    for tick in TICKS:
        x = place(tick)
        out.append(stroke("one" if tick == 1 else "tick", x, TOP - 6, x, bottom))
        out.append(text(x, TOP - 12, f"{tick:g}", anchor="middle"))
    return "".join(out)


def legend():
    y = 22
    out = [text(12, y, "ours : peer (more is better, but where the target is <=)", bold=True)]
    for x, kind, words in ((440, "yes", "target reached"), (570, "no", "not reached"),
                           (680, "none", "no target")):
        out.append(f'<circle class="sample {kind}" cx="{x}" cy="{y - 4}" r="5" stroke-width="2"/>')
        out.append(text(x + 10, y, words))
    out.append(stroke("target", 780, y - 11, 780, y + 3))
    out.append(text(788, y, "target"))
    return "".join(out)


def line(out, y):
    """Draws one result: its name, a bar from 1, the target, the mark and the number."""
    ratio, target = out["ratio"], out["target"]
    kind = {None: "none", True: "yes", False: "no"}[out["reached"]]
    x, middle = place(ratio), y - 4
    name = out["row"] + ("" if out["column"] == "mount" else f", {out['column']}")
    drawn = [text(12, y, name), text(128, y, out["what"]),
             stroke(f"bar {kind}", place(1), middle, x, middle)]
    if target is not None:
        drawn.append(stroke("target", place(target), middle - 8, place(target), middle + 8))
    drawn.append(f'<circle class="mark {kind}" cx="{x}" cy="{middle}" r="5">'
                 f'<title>{escape(out["what"])}: {number(ratio)}</title></circle>')
    most = out["target_is"] == "at most" and target is not None
    drawn.append(text(WIDTH - 12, y, number(ratio) + (f" (<= {target:g})" if most else ""),
                      bold=True, anchor="end"))
    return "".join(drawn)


def draw(report):
    """Returns the SVG text of a report, as --json writes it. Omits rows without a ratio."""
    results = [out for out in report["rows"] if out["ratio"] is not None]
    bottom = TOP + LINE * len(results) + 6
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 30}" '
             f'width="{WIDTH}" height="{bottom + 30}" role="img">',
             "<title>mpiio-viewfs and its peers</title>", f"<style>{style()}</style>",
             f'<rect class="page" width="{WIDTH}" height="{bottom + 30}"/>']
    parts += [legend(), axis(bottom)]
    for place_in_list, out in enumerate(results):
        parts.append(line(out, TOP + LINE * place_in_list + 18))
    machine = report["machine"]
    kernel = ".".join(machine["kernel"].split(".")[:2])
    parts.append(text(12, bottom + 20, f"{machine['cpu']}, {machine['cores']} cores, Linux {kernel}; "
                      f"medians, rounds: {report['rounds']}"))
    return "\n".join(parts + ["</svg>"]) + "\n"
