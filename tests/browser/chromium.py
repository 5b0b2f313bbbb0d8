"""A headless Chromium, spoken to over a pipe by its DevTools protocol; no driver is needed."""

from __future__ import annotations

import base64
import fcntl
import itertools
import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--force-color-profile=srgb",
    "--remote-debugging-pipe",
)
# The browser reads from 3 and writes to 4; neither may be one of ours while they are set.
BEYOND = 20
LAUNCHER = """
import os, sys
for number, end in enumerate(sys.argv[1:3], 3):
    os.dup2(int(end), number)
os.execv(sys.argv[3], sys.argv[3:])
"""
SECONDS = 60.0


class Chromium:
    """A browser with one page. `requests` are the addresses that the page has asked for."""

    def __init__(self, folder: Path) -> None:
        program = next((path for name in NAMES if (path := shutil.which(name))), None)
        if program is None:
            raise RuntimeError(f"none of {', '.join(NAMES)} is installed")
        self.requests: list[str] = []
        self.errors: list[str] = []
        self._numbers = itertools.count(1)
        self._unread = b""
        self._loaded = False
        self._session: str | None = None
        from_us, self._write = os.pipe()
        self._read, from_it = os.pipe()
        ends = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, BEYOND) for descriptor in (from_us, from_it)]
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-c", LAUNCHER, *map(str, ends), program, *OPTIONS),
                *(f"--user-data-dir={folder}", "about:blank"),
            ],
            pass_fds=ends,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for descriptor in (from_us, from_it, *ends):
            os.close(descriptor)
        targets = self._call("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        attached = self._call("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network"):
            self._call(f"{domain}.enable")

    def __enter__(self) -> Chromium:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._write)
        os.close(self._read)

    def show(self, page: Path | str, width: int, height: int = 900, *, dark: bool = False) -> None:
        """Load a file or an address in a window of that size, in the colours that are preferred."""
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])
        self._loaded = False
        url = page if isinstance(page, str) else page.resolve().as_uri()
        self._call("Page.navigate", url=url)
        end = time.monotonic() + SECONDS
        while not self._loaded:
            self._take(end)

    def run(self, script: str) -> Any:
        """Return the value of an expression in the page."""
        done = self._call("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in done:
            raise RuntimeError(json.dumps(done["exceptionDetails"]))
        return done["result"].get("value")

    def click(self, x: float, y: float) -> None:
        for kind in ("mousePressed", "mouseReleased"):
            event = {"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}
            self._call("Input.dispatchMouseEvent", **event)

    def screenshot(self) -> bytes:
        """Return a picture (PNG) of the whole page."""
        taken = self._call("Page.captureScreenshot", captureBeyondViewport=True)
        return base64.b64decode(taken["data"])

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + SECONDS
        while True:
            answer = self._take(end)
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return dict(answer["result"])

    def _take(self, end: float) -> dict[str, Any]:
        """Return the next message of the browser; raises TimeoutError."""
        while b"\0" not in self._unread:
            ready, _, _ = select.select([self._read], [], [], max(end - time.monotonic(), 0))
            if not ready:
                raise TimeoutError("the browser does not answer")
            data = os.read(self._read, 1 << 16)
            if not data:
                raise RuntimeError("the browser has ended")
            self._unread += data
        message, _, self._unread = self._unread.partition(b"\0")
        event: dict[str, Any] = json.loads(message)
        if event.get("method") == "Page.loadEventFired":
            self._loaded = True
        elif event.get("method") == "Network.requestWillBeSent":
            self.requests.append(event["params"]["request"]["url"])
        elif event.get("method") == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(event["params"]["exceptionDetails"]))
        return event
