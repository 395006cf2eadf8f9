"""A headless Chromium, spoken to over a pipe (Chrome DevTools Protocol): no port, no network, nothing to install."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fcntl import F_DUPFD, fcntl
from pathlib import Path
from select import select
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
START_S, ANSWER_S = 60.0, 60.0
_SWITCHES = (
    "--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
    "--disable-background-networking", "--disable-component-update", "--no-first-run", "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND", "--force-color-profile=srgb", "--font-render-hinting=none",
)  # fmt: skip


def installed() -> str:
    """The browser's command; empty where there is none."""
    return next((found for name in NAMES if (found := shutil.which(name))), "")


class Page:
    """One page. What it logs and asks for is collected in `messages` and `requests`."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._out, self._in = to_browser, from_browser
        self._rest, self._number, self._session = b"", 0, ""
        self.messages: list[str] = []
        """Everything that the console would show: logs, errors, refused resources."""
        self.requests: list[str] = []
        """Addresses of all requests, the page itself first."""
        self._loaded = False

    def attach(self) -> None:
        """Open an empty page and listen to it."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command. Raises RuntimeError with the browser's message, TimeoutError where it does not answer."""
        self._number += 1
        told = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            told["sessionId"] = self._session
        os.write(self._out, json.dumps(told).encode() + b"\0")
        deadline = time.monotonic() + ANSWER_S
        while True:
            answer = self._next(deadline)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return dict(answer["result"])

    def open(self, file: Path) -> None:
        """Load a local file and wait until it is there."""
        self._loaded = False
        self.call("Page.navigate", url=file.resolve().as_uri())
        deadline = time.monotonic() + ANSWER_S
        while not self._loaded:
            self._next(deadline)

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression. Raises RuntimeError where it throws."""
        told = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in told:
            raise RuntimeError(f"{expression}: {told['exceptionDetails']}")
        return told["result"].get("value")

    def press(self, key: str) -> None:
        """Press a key (one letter, `Enter`, `Escape`) and let it go."""
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        code = {"windowsVirtualKeyCode": 13} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=text, **code)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, **code)

    def resize(self, width: int, height: int) -> None:
        """The size of the window, CSS pixels."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def prefer(self, scheme: str, medium: str = "screen") -> None:
        """`light` or `dark`, `screen` or `print`."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=medium, features=features)

    def scripts(self, run: bool) -> None:
        """Whether scripts of pages that are opened from now on run."""
        self.call("Emulation.setScriptExecutionDisabled", value=not run)

    def picture(self, selector: str = "", whole: bool = False) -> bytes:
        """A PNG of what the window shows, of the whole page, or of one element."""
        clip: dict[str, Any] = {}
        if selector:
            box = (f"(() => {{ const b = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
                   " return {x: b.x + scrollX, y: b.y + scrollY, width: b.width, height: b.height} })()")  # fmt: skip
            clip = {"clip": {**self.evaluate(box), "scale": 1}}
        told = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole or bool(selector), **clip)
        return base64.b64decode(told["data"])

    def pdf(self) -> bytes:
        """The page as it would be printed."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=False)["data"])

    def _next(self, deadline: float) -> dict[str, Any]:
        """The next message of the browser; events are noted on the way."""
        while b"\0" not in self._rest:
            ready, _, _ = select([self._in], [], [], max(0.0, deadline - time.monotonic()))
            read = os.read(self._in, 1 << 20) if ready else b""
            if not read:
                raise TimeoutError("the browser does not answer")
            self._rest += read
        line, _, self._rest = self._rest.partition(b"\0")
        told: dict[str, Any] = json.loads(line)
        self._note(told.get("method", ""), told.get("params", {}))
        return told

    def _note(self, method: str, told: dict[str, Any]) -> None:
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])
        elif method == "Runtime.consoleAPICalled":
            self.messages.append(" ".join(str(entry.get("value", entry)) for entry in told["args"]))
        elif method == "Runtime.exceptionThrown":
            self.messages.append(str(told["exceptionDetails"]))
        elif method == "Log.entryAdded":
            self.messages.append(told["entry"]["text"])


@contextmanager
def browser() -> Iterator[Page]:
    """A browser with one page; killed at the end. Raises FileNotFoundError where none is installed."""
    command = installed()
    if not command:
        raise FileNotFoundError("no chromium here: apt-get install chromium")
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    with tempfile.TemporaryDirectory(prefix="fsconform-chromium-", ignore_cleanup_errors=True) as home:
        process = _start(command, Path(home), theirs_in, theirs_out)
        os.close(theirs_in)
        os.close(theirs_out)
        try:
            page = Page(ours_out, ours_in)
            page.attach()
            yield page
        finally:
            _end(process)
            os.close(ours_out)
            os.close(ours_in)


def _start(command: str, home: Path, reads: int, writes: int) -> subprocess.Popen[bytes]:
    """The browser reads commands from descriptor 3 and writes answers to 4."""
    high = [fcntl(descriptor, F_DUPFD, 10) for descriptor in (reads, writes)]
    script = f'exec "$@" 3<&{high[0]} 4>&{high[1]} {high[0]}<&- {high[1]}>&-'
    try:
        return subprocess.Popen(
            ["bash", "-c", script, "bash", command, *_SWITCHES, f"--user-data-dir={home}/profile", "about:blank"],
            pass_fds=high, env={**os.environ, "HOME": str(home)}, start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    finally:
        for descriptor in high:
            os.close(descriptor)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the browser and all its helpers: they share a session of their own."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, 9)
    process.wait(timeout=START_S)
