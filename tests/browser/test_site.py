"""The documentation site as a reader sees it: served on loopback, in headless Chromium."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from scripts.site_hooks import MERMAID, PYODIDE
from tests.browser.chromium import Chromium
from tests.browser.looks import FAINT, LEAST, OVERFLOWING, keep

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
PAGES = ("", "start/", "how-it-works/", "rules/", "rules/TPU101/", "configuration/", "map/")
# The theme's own drawer and links to headings are hidden until somebody asks for them.
CONTRASTS = FAINT.replace("})(document.documentElement)", "})(document.querySelector('article'))")
WIDE = OVERFLOWING.replace('"body *"', '"article, article *"')
SECONDS = 300


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the site, built and served."""
    folder = str(tmp_path_factory.mktemp("site"))
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", folder],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        timeout=SECONDS,
        check=True,
    )
    with ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=folder)
    ) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with Chromium(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("page", PAGES)
def test_a_page_of_the_site_can_be_read(
    page: str, width: int, dark: bool, site: str, browser: Chromium
) -> None:
    browser.requests.clear()
    browser.errors.clear()
    browser.show(site + page, width, dark=dark)
    browser.run("localStorage.clear()")  # the theme keeps the colours of the page before
    browser.show(site + page, width, dark=dark)
    scheme = browser.run("document.body.dataset.mdColorScheme")
    assert scheme == ("slate" if dark else "default")
    name = page.strip("/").replace("/", "-") or "index"
    keep(browser, f"site-{name}-{width}-{'dark' if dark else 'light'}.png")
    assert not browser.errors
    elsewhere = (
        request for request in browser.requests if not request.startswith((site, "data:", "blob:"))
    )
    assert not list(elsewhere)
    assert not browser.run(WIDE)
    contrasts = browser.run(CONTRASTS)
    assert len(contrasts) > 20
    assert not [contrast for contrast in contrasts if contrast[0] < LEAST and contrast[1] != "¶"]


def test_code_is_highlighted(site: str, browser: Chromium) -> None:
    browser.show(site + "rules/TPU101/", 1280)
    blocks = browser.run(
        "[...document.querySelectorAll('.highlight')]"
        ".map(block => block.querySelectorAll('code span[class]').length)"
    )
    assert len(blocks) > 10
    assert min(blocks) > 0


def test_pictures_are_shown(site: str, browser: Chromium) -> None:
    for page in ("", "how-it-works/", "map/"):
        browser.show(site + page, 1280)
        shown = browser.run(
            "[...document.querySelectorAll('article img')]"
            ".filter(image => image.offsetParent).map(image => image.naturalWidth)"
        )
        assert shown
        assert min(shown) > 0


@pytest.mark.skipif(not MERMAID.exists(), reason="mermaid was not fetched: npm is not installed")
def test_the_diagram_of_the_packages_is_drawn(site: str, browser: Chromium) -> None:
    browser.requests.clear()
    browser.show(site + "architecture/", 1280)
    drawn = "[...document.querySelectorAll('div.mermaid')].map(each => each.offsetHeight)"
    end = time.monotonic() + 30
    while not (heights := browser.run(drawn)) and time.monotonic() < end:
        time.sleep(0.2)
    assert min(heights, default=0) > 200
    assert not [
        request for request in browser.requests if not request.startswith((site, "data:", "blob:"))
    ]


def test_the_search_finds_a_rule_by_its_code(site: str, browser: Chromium) -> None:
    browser.show(site + "?q=TPU101", 1280)
    actual = ""
    end = time.monotonic() + 30
    while "TPU101" not in actual and time.monotonic() < end:
        time.sleep(0.2)
        actual = browser.run("document.querySelector('.md-search-result__list').textContent")
    assert "TPU101" in actual


@pytest.mark.skipif(not PYODIDE.exists(), reason="Pyodide was not fetched: npm is not installed")
def test_the_playground_checks_a_program_in_the_browser(site: str, browser: Chromium) -> None:
    browser.requests.clear()
    browser.errors.clear()
    browser.show(site + "playground/", 1280)
    shown = wait_for(browser, "document.getElementById('playground-report').textContent", "TPU101")
    assert "program.py:35:16" in shown
    assert "waits for `running_loss`, which the device" in shown
    assert browser.run("document.querySelector('#playground-map img').naturalWidth") > 0
    keep(browser, "site-playground-1280.png")
    # A place in the report selects what it names.
    browser.run("document.querySelector('#playground-report button').click()")
    selected = browser.run(
        "(source => source.value.slice(source.selectionStart, source.selectionEnd))"
        "(document.getElementById('playground-source'))"
    )
    assert selected == "self.running_loss.read_value()"
    # A program that was typed is checked, and its link holds it.
    browser.run(
        "(source => {source.value = 'import tensorflow as tf\\ntf.tpu.rewrite(\\n'; "
        "source.dispatchEvent(new Event('input'))})(document.getElementById('playground-source'))"
    )
    wait_for(browser, "document.getElementById('playground-report').textContent", "TPU001")
    browser.run("document.getElementById('playground-share').click()")
    wait_for(browser, "location.hash", "#program=")
    link = browser.run("location.href")
    browser.show(site, 400)
    browser.show(link, 400)
    wait_for(browser, "document.getElementById('playground-source').value", "tf.tpu.rewrite(")
    wait_for(browser, "document.getElementById('playground-report').textContent", "TPU001")
    assert not browser.run(WIDE)
    keep(browser, "site-playground-400.png")
    assert not browser.errors
    assert not [
        request for request in browser.requests if not request.startswith((site, "data:", "blob:"))
    ]


def wait_for(browser: Chromium, script: str, text: str) -> str:
    """Return the value of the script once it contains the text."""
    end = time.monotonic() + 60
    while text not in (value := browser.run(script) or ""):
        assert time.monotonic() < end, value
        time.sleep(0.2)
    return str(value)
