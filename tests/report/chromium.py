"""A headless Chromium that reaches no network but this machine, driven over the pipes of its DevTools."""

from __future__ import annotations

import base64
import fcntl
import itertools
import json
import os
import select
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PATIENCE = 60  # seconds for one answer, on a machine that does other things as well
OPTIONS = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-sync",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--no-default-browser-check",
    "--no-first-run",
)


@dataclass
class Page:
    """One tab, with what it asked for and what it complained of."""

    browser: Browser
    session: str
    requests: list[str] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)

    def call(self, method: str, **parameters: object) -> dict[str, Any]:
        return self.browser.call(method, session=self.session, **parameters)

    def resize(self, width: int, height: int, *, scheme: str = "light") -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", features=features)

    def open(self, path: Path, *, scripts: bool = True) -> None:
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.call("Page.navigate", url=path.as_uri())
        self.browser.wait_for("Page.loadEventFired", self.session)

    def evaluate(self, script: str) -> Any:  # noqa: ANN401 - whatever the script gives
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def press(self, key: str, code: int, text: str = "") -> None:
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                windowsVirtualKeyCode=code,
                text=text if kind == "keyDown" else "",
            )

    def click(self, selector: str) -> None:
        """Press the mouse where *selector* stands."""
        x, y = self.evaluate(
            f"(() => {{ const found = document.querySelector({json.dumps(selector)});"
            " found.scrollIntoView({block: 'center'});"
            " const box = found.getBoundingClientRect();"
            " return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call(
                "Input.dispatchMouseEvent",
                type=kind,
                x=x,
                y=y,
                button="left",
                clickCount=1,
            )

    def screenshot(self, path: Path) -> bytes:
        """Write the visible part of the page as PNG."""
        data = base64.b64decode(self.call("Page.captureScreenshot")["data"])
        path.write_bytes(data)
        return data


class Browser:
    """A running Chromium."""

    def __init__(self, sending: int, receiving: int) -> None:
        self._sending, self._receiving = sending, receiving
        self._numbers = itertools.count(1)
        self._buffer = b""
        self._events: list[tuple[str, str]] = []
        self._pages: dict[str, Page] = {}

    def new_page(self) -> Page:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        answer = self.call("Target.attachToTarget", targetId=target, flatten=True)
        page = Page(self, answer["sessionId"])
        self._pages[page.session] = page
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        return page

    def call(
        self, method: str, *, session: str | None = None, **parameters: object
    ) -> dict[str, Any]:
        number = next(self._numbers)
        message: dict[str, object] = {
            "id": number,
            "method": method,
            "params": parameters,
        }
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._sending, data) :]
        while True:
            answer = self._receive()
            if answer.get("id") == number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                found: dict[str, Any] = answer["result"]
                return found

    def wait_for(self, event: str, session: str) -> None:
        while (session, event) not in self._events:
            self._receive()
        self._events.remove((session, event))

    def _receive(self) -> dict[str, Any]:
        """Return the next message; what a page does is noted on the way."""
        until = time.monotonic() + PATIENCE
        while b"\0" not in self._buffer:
            left = max(0, until - time.monotonic())
            if not select.select([self._receiving], [], [], left)[0]:
                msg = f"chromium did not answer within {PATIENCE} s"
                raise TimeoutError(msg)
            data = os.read(self._receiving, 1 << 20)
            if not data:
                msg = "chromium ended; its own words are in chromium.log"
                raise ConnectionError(msg)
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        if page := self._pages.get(message.get("sessionId", "")):
            self._note(page, message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, page: Page, event: str, details: dict[str, Any]) -> None:
        if event == "Network.requestWillBeSent":
            page.requests.append(details["request"]["url"])
        elif event in (
            "Runtime.exceptionThrown",
            "Runtime.consoleAPICalled",
            "Log.entryAdded",
        ):
            page.troubles.append(json.dumps(details))
        elif event == "Page.loadEventFired":
            self._events.append((page.session, event))


@contextmanager
def running_chromium(folder: Path) -> Iterator[Browser]:
    """Run Chromium with an empty profile in *folder* for as long as it is needed."""
    its_input, sending = _pipe()
    receiving, its_output = _pipe()
    root = ["--no-sandbox"] if os.geteuid() == 0 else []
    data = f"--user-data-dir={folder / 'profile'}"
    # It wants its pipes as 3 and 4.
    script = f'exec chromium "$@" 3<&{its_input} 4>&{its_output}'
    with (folder / "chromium.log").open("wb") as log:
        process = subprocess.Popen(
            ["bash", "-c", script, "bash", *OPTIONS, *root, data, "about:blank"],
            pass_fds=(its_input, its_output),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    os.close(its_input)
    os.close(its_output)
    try:
        browser = Browser(sending, receiving)
        yield browser
        browser.call("Browser.close")
        process.wait(PATIENCE)
    finally:
        process.kill()
        process.wait()
        os.close(sending)
        os.close(receiving)


def _pipe() -> tuple[int, int]:
    """Return the ends of a pipe, with numbers that are not in the way of 3 and 4."""
    ends = os.pipe()
    read, write = (fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends)
    for end in ends:
        os.close(end)
    return read, write
