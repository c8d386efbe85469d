"""A headless Chromium to look at pages with, driven over its own protocol: no package is needed but websockets."""

from __future__ import annotations

import base64
import io
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from typing import Any

import numpy as np
import numpy.typing as npt

PROGRAM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
SIZE = (900, 600)
FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--hide-scrollbars",
    "--remote-debugging-port=0",
    f"--window-size={SIZE[0]},{SIZE[1]}",
]


class Chromium:
    """One page in a browser of its own."""

    def __init__(self) -> None:
        from websockets.sync.client import connect

        assert PROGRAM is not None
        self._home = tempfile.mkdtemp()
        command = [PROGRAM, *FLAGS, f"--user-data-dir={self._home}", "about:blank"]
        environment = {**os.environ, "HOME": self._home}
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment)
        assert self._process.stderr is not None
        address = None
        for line in self._process.stderr:
            if found := re.search(rb"DevTools listening on (ws://\S+)", line):
                address = found.group(1).decode()
                break
        assert address, "Chromium did not start"
        self._socket = connect(address, max_size=2**27)
        self._count, self._session = 0, None
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        width, height = SIZE
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def ask(self, method: str, **parameters: Any) -> Any:
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        self._socket.send(json.dumps(message))
        while True:
            answer = json.loads(self._socket.recv(timeout=60))
            if answer.get("id") == self._count:
                assert "error" not in answer, answer
                return answer["result"]

    def offline(self) -> None:
        self.ask("Network.enable")
        self.ask("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0)

    def open(self, url: str) -> None:
        self.ask("Page.navigate", url=url)
        self.until("document.querySelector('canvas') !== null")

    def run(self, script: str) -> Any:
        return self.ask("Runtime.evaluate", expression=script, returnByValue=True)["result"].get("value")

    def until(self, script: str, seconds: float = 30.0) -> None:
        end = time.perf_counter() + seconds
        while not self.run(script):
            assert time.perf_counter() < end, f"still not: {script}"
            time.sleep(0.1)

    def key(self, key: str, times: int) -> None:
        for kind in ("keyDown", "keyUp") * times:
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=39)

    def screenshot(self) -> bytes:
        return base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"])

    def picture(self) -> npt.NDArray[Any]:
        """The middle of the page, where the robot is: (rows, columns, 3)."""
        from PIL import Image

        with Image.open(io.BytesIO(self.screenshot())) as image:
            return np.asarray(image.convert("RGB"), int)[150:540, 200:560]

    def close(self) -> None:
        self._socket.close()
        self._process.terminate()
        self._process.wait(timeout=20)
        if self._process.stderr is not None:
            self._process.stderr.close()
        shutil.rmtree(self._home, ignore_errors=True)
