"""The colours and letters of pictures, by the reader's colour scheme.

Every colour of letters has a contrast of 4.5 or more to what is behind it (WCAG AA).
"""

from __future__ import annotations

LIGHT = {
    "ground": "#ffffff",
    "box": "#f6f8fa",
    "ink": "#1f2328",
    "muted": "#59636e",
    "line": "#818b98",
    "device": "#0969da",
    "host": "#8250df",
    "alarm": "#cf222e",
    "alarmbox": "#fff0ee",
}
DARK = {
    "ground": "#0d1117",
    "box": "#161b22",
    "ink": "#e6edf3",
    "muted": "#9198a1",
    "line": "#6e7681",
    "device": "#58a6ff",
    "host": "#bc8cff",
    "alarm": "#ff7b72",
    "alarmbox": "#2d1214",
}


def _variables(colours: dict[str, str]) -> str:
    return "".join(f"--map-{name}: {value}; " for name, value in colours.items())


SVG_STYLE = f"""
.tpumap {{ {_variables(LIGHT)}}}
@media (prefers-color-scheme: dark) {{ .tpumap {{ {_variables(DARK)}}} }}
.tpumap text {{ font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; \
fill: var(--map-ink); }}
.tpumap .ground {{ fill: var(--map-ground); }}
.tpumap .box {{ fill: var(--map-box); stroke: var(--map-line); }}
.tpumap .device > .box, .tpumap .device > a > .box {{ stroke: var(--map-device); }}
.tpumap .host > .box, .tpumap .host > a > .box {{ stroke: var(--map-host); }}
.tpumap .region > .box {{ fill: none; stroke-dasharray: 5 4; }}
.tpumap .touches > .box, .tpumap .touches > a > .box {{ fill: none; stroke: none; }}
.tpumap .alarm > .box, .tpumap .alarm > a > .box {{ fill: var(--map-alarmbox); \
stroke: var(--map-alarm); stroke-width: 1.5; }}
.tpumap text.title {{ font-weight: 600; }}
.tpumap text.muted {{ fill: var(--map-muted); }}
.tpumap text.small {{ font-size: 11px; fill: var(--map-muted); }}
.tpumap text.device {{ fill: var(--map-device); font-weight: 600; }}
.tpumap text.host {{ fill: var(--map-host); font-weight: 600; }}
.tpumap text.alarm {{ fill: var(--map-alarm); }}
.tpumap .arrow {{ fill: none; stroke: var(--map-line); stroke-width: 1.3; }}
.tpumap .arrow.time {{ stroke-dasharray: 2 4; }}
.tpumap .arrow.alarm {{ stroke: var(--map-alarm); stroke-width: 2; }}
.tpumap .arrow.possible {{ stroke-dasharray: 6 4; }}
.tpumap .head path {{ fill: var(--map-line); }}
.tpumap .head.alarm path {{ fill: var(--map-alarm); }}
.tpumap a {{ cursor: pointer; }}
.tpumap a:hover text, .tpumap a:focus text {{ text-decoration: underline; }}
"""
