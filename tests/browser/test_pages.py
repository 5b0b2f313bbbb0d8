"""The pages as a reader sees them: in headless Chromium, light and dark, wide and narrow.

    make browser

A screenshot of each goes to TPULINT_SCREENSHOTS, where that is set.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.chromium import Chromium
from tests.browser.looks import FAINT, LEAST, OVERFLOWING, SPILLING, keep
from tests.unit.map.drawn import context_of, found
from tests.unit.map.programs import DEADLOCK, LAYERS, LOOP, VARIABLES
from tests.unit.run.test_report import CLUSTER, DEVICE, FEED, report
from tests.unit.sample import CONTEXT, FINDINGS
from tests.unit.sample import DEADLOCK as FINDING
from tpulint.map.pictures import load
from tpulint.output import load as load_format
from tpulint.run.report import RunFault
from tpulint.run.report import html as run_html

pytestmark = pytest.mark.browser

WIDTHS = (1280, 400)
MAPS = {"deadlock": DEADLOCK, "layers": LAYERS, "loop": LOOP, "variables": VARIABLES}
PAGES = ("check", "run", *(f"map-{name}" for name in MAPS), *(f"svg-{name}" for name in MAPS))


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with Chromium(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages, written."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "check.html").write_text(load_format("html")(FINDINGS, CONTEXT), encoding="utf-8")
    fault = RunFault("DeadlockError", "TPU101", "trainer.py:9", FINDING)
    ran = report(fault, lanes=(FEED, DEVICE, CLUSTER, CLUSTER._replace(round_trips=0)))
    (folder / "run.html").write_text(run_html(ran, CONTEXT), encoding="utf-8")
    for name, text in MAPS.items():
        here = found(text, folder)
        context = context_of(here, folder)
        page = load("html")(here.program, context)
        (folder / f"map-{name}.html").write_text(page, encoding="utf-8")
        picture = load("svg")(here.program, context)
        (folder / f"svg-{name}.svg").write_text(picture, encoding="utf-8")
    return folder


def path_of(page: str, folder: Path) -> Path:
    (path,) = folder.glob(f"{page}.*")
    return path


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("page", PAGES)
def test_a_page_can_be_read(
    page: str, width: int, dark: bool, folder: Path, browser: Chromium
) -> None:
    path = path_of(page, folder)
    browser.requests.clear()
    browser.errors.clear()
    browser.show(path, width, dark=dark)
    keep(browser, f"{page}-{width}-{'dark' if dark else 'light'}.png")
    assert not browser.errors
    assert browser.requests == [path.resolve().as_uri()], "nothing else is asked for"
    if path.suffix == ".html":
        assert not browser.run(OVERFLOWING)
    assert not browser.run(SPILLING)
    contrasts = browser.run(FAINT)
    assert contrasts
    assert not [contrast for contrast in contrasts if contrast[0] < LEAST]


@pytest.mark.parametrize("width", WIDTHS)
def test_the_counts_of_a_run_are_whole(width: int, folder: Path, browser: Chromium) -> None:
    browser.show(path_of("run", folder), width)
    cut = "[...document.querySelectorAll('.wide')].filter((e) => e.scrollWidth > e.clientWidth)"
    assert browser.run(f"{cut}.length") == 0
    cells = "[...document.querySelectorAll('.counts td')].map((e) => e.getBoundingClientRect())"
    right = browser.run(f"Math.max(...{cells}.map((box) => box.right))")
    assert 0 < right <= width


def test_the_questions_see_what_is_wrong(tmp_path: Path, browser: Chromium) -> None:
    """A page with a fault of each kind: too wide, too faint, out of its box, on other words."""
    words = "".join(f'<text x="10" y="{y}" fill="#000">much too wide</text>' for y in (20, 24))
    page = tmp_path / "wrong.html"
    page.write_text(
        '<body><div style="width: 600px">wide</div><p style="color: #999">faint</p>'
        f'<svg width="300" height="60"><g><rect class="box" width="40" height="40"/>{words}</g>'
        "</svg></body>"
    )
    browser.show(page, 400)
    assert browser.run(OVERFLOWING)
    assert len(browser.run(SPILLING)) == 3
    assert [text for contrast, text in browser.run(FAINT) if contrast < LEAST] == [
        "faint",
        "much too wide",  # in black on the black of a rectangle
        "much too wide",
    ]


@pytest.mark.parametrize("width", WIDTHS)
def test_one_picture_is_shown_that_fits(width: int, folder: Path, browser: Chromium) -> None:
    browser.show(path_of("map-deadlock", folder), width)
    shown = browser.run(
        "[...document.querySelectorAll('figure svg')]"
        ".filter((each) => each.getBoundingClientRect().width)"
        ".map((each) => [each.classList[1], each.getBoundingClientRect().right])"
    )
    assert len(shown) == 1
    assert shown[0][0] == ("wide" if width > 900 else "narrow")
    assert shown[0][1] <= width


def test_a_click_leads_to_the_source(folder: Path, browser: Chromium) -> None:
    browser.show(path_of("map-deadlock", folder), 1280)
    box = browser.run(
        "(() => { const each = [...document.querySelectorAll('svg.wide text')]"
        ".find((text) => text.textContent.includes('read by read_value')).getBoundingClientRect();"
        " return [each.x + each.width / 2, each.y + each.height / 2]; })()"
    )
    browser.click(*box)
    target = browser.run("document.querySelector(':target').textContent")
    assert "return x / total.read_value()" in target
    row = browser.run("document.querySelector(':target').getBoundingClientRect().top")
    assert 0 <= row < 900


def test_the_picture_can_be_zoomed(folder: Path, browser: Chromium) -> None:
    browser.show(path_of("map-deadlock", folder), 1280)
    width = "document.querySelector('svg.wide').getBoundingClientRect().width"
    before = browser.run(width)
    for sign, compare in (("+", 1), ("0", 0), ("-", -1)):
        browser.run(f"document.querySelector('[data-zoom=\"{sign}\"]').click()")
        now = browser.run(width)
        assert (now > before) - (now < before) == compare
        assert not browser.run(OVERFLOWING)


def test_a_cycle_is_red(folder: Path, browser: Chromium) -> None:
    browser.show(path_of("map-deadlock", folder), 1280)
    stroke = browser.run(
        "getComputedStyle(document.querySelector('svg.wide polyline.alarm')).stroke"
    )
    red, green, blue = (int(channel) for channel in stroke[4:-1].split(","))
    assert red > 2 * max(green, blue)
