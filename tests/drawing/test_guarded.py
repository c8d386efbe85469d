"""Whom a page answers, asked by a real WebSocket client and by HTTP: only who knows its address, on this machine."""

from __future__ import annotations

import os
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.drawing.chromium import PROGRAM, Chromium

import catena
from catena.drawing.guarded import Guard
from catena.drawing.page import Page

viser = pytest.importorskip("viser")
client = pytest.importorskip("websockets.sync.client")
refusals = pytest.importorskip("websockets.exceptions")
packed = pytest.importorskip("msgspec.msgpack")


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with catena.view(catena.load("two_link_arm"), [0.1, 0.2], port=18_300) as found:
        yield found


@contextmanager
def socket_to(
    page: Page, *, host: str | None = None, path: str | None = None, origin: str | None = None
) -> Iterator[Any]:
    """A WebSocket to the page as its own client opens it, but for what is given."""
    at = urlsplit(page.url)
    uri, version = f"ws://{host or at.netloc}{at.path if path is None else path}", f"viser-v{viser.__version__}"
    with (
        socket.create_connection((at.hostname, at.port)) as there,
        client.connect(uri, sock=there, origin=origin, subprotocols=[version]) as opened,
    ):
        yield opened


def own(page: Page) -> str:
    return f"http://{urlsplit(page.url).netloc}"


@pytest.mark.parametrize("origin", [own, None])
def test_who_has_the_address_gets_the_scene(page: Page, origin: Any) -> None:
    with socket_to(page, origin=origin and origin(page)) as opened:
        assert len(opened.recv(timeout=10)) > 100


def test_other_names_and_ports_of_this_machine(page: Page) -> None:
    """A tunnel of ssh has a port of its own."""
    with socket_to(page, host="localhost:9000", origin="http://localhost:9000") as opened:
        assert opened.recv(timeout=10)


@pytest.mark.parametrize(
    "wrong",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"origin": "https://127.0.0.1:18300.evil.example"},
        {"host": "evil.example", "origin": "http://evil.example"},
        {"host": "evil.example:18300"},
        {"host": "127.0.0.1.evil.example"},
        {"path": ""},
        {"path": "/"},
        {"path": "/" + 32 * "A"},
    ],
    ids=str,
)
def test_others_are_refused(page: Page, wrong: dict[str, str]) -> None:
    with pytest.raises(refusals.InvalidStatus) as refused, socket_to(page, **{"origin": own(page), **wrong}):
        pass
    assert refused.value.response.status_code == 403


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("", {}),
        ("/index.html", {}),
        (None, {"Host": "evil.example"}),
        (None, {"Host": "evil@127.0.0.1"}),
        (None, {"Origin": "http://evil.example"}),
    ],
)
def test_the_page_itself_is_not_told_to_others_either(page: Page, path: str | None, headers: dict[str, str]) -> None:
    address = page.url if path is None else own(page) + path
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(urllib.request.Request(address, headers=headers))
    with refused.value as answer:
        assert answer.code == 403
        said = answer.read()
    assert said.startswith(b"Refused")
    assert page.url.rpartition("/")[2].encode() not in said


def test_the_page_is_served_below_its_token_and_tells_it_to_nobody(page: Page) -> None:
    for end in ("", "/", "/?websocket=x"):
        with urllib.request.urlopen(page.url + end) as answer:
            assert b"<html" in answer.read()
            assert answer.headers["Referrer-Policy"] == "no-referrer"
    with pytest.raises(urllib.error.HTTPError) as missing:
        urllib.request.urlopen(page.url + "/../../secret")
    with missing.value as answer:
        assert answer.code == 404


def test_a_path_of_odd_bytes_is_refused_as_others_are() -> None:
    assert "token" in (Guard().refusal("/\udcff\udcfe", ["127.0.0.1"], []) or "")


def test_every_page_has_another_token() -> None:
    tokens = {Guard().token for _ in range(100)}
    assert len(tokens) == 100
    assert min(map(len, tokens)) >= 32


def test_nothing_is_shared_whoever_asks(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    tunnels: list[Any] = []
    monkeypatch.setattr("viser._viser.ViserTunnel", lambda *given: tunnels.append(given))
    heard, websock = threading.Event(), page._server._websock_server
    websock.register_handler(viser._messages.ShareUrlRequest, lambda *_: heard.set())  # after viser's own
    with socket_to(page, origin=own(page)) as opened:
        opened.send(packed.encode({"type": "ShareUrlRequest"}))
        assert heard.wait(20.0)
        time.sleep(0.2)  # viser works on it in another thread
    assert page._server.request_share_url() is None
    assert not tunnels
    assert page._server._share_tunnel is None


def test_a_server_that_cannot_be_guarded_is_not_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Guard, "worker", lambda self, server: type(server)._background_worker.__get__(server))
    with pytest.raises(catena.CatenaError, match="cannot be guarded"):
        catena.view(catena.load("two_link_arm"), port=18_310)


class Stranger(BaseHTTPRequestHandler):
    """A page of somebody else."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<html><body></body></html>")

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.mark.skipif(PROGRAM is None, reason="Chromium is not installed (Debian: apt install chromium)")
def test_pages_of_strangers_in_the_same_browser(page: Page) -> None:
    """A script elsewhere does not get through, even if it knew; an iframe elsewhere, as of a notebook, has the page."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Stranger) as elsewhere:
        threading.Thread(target=elsewhere.serve_forever, daemon=True).start()
        browser = Chromium()
        try:
            browser.ask("Page.navigate", url=f"http://localhost:{elsewhere.server_port}/")
            browser.until("location.host != '' && document.body !== null")
            browser.run(
                f"window.told = []; for (const [name, end] of [['known', '{urlsplit(page.url).path}'], ['guess', '']])"
                f"{{ const s = new WebSocket('ws://{urlsplit(page.url).netloc}' + end, ['viser-v{viser.__version__}']);"
                "s.onopen = () => told.push(name + ' open'); s.onerror = () => told.push(name + ' refused') }"
            )
            browser.until("told.length == 2")
            assert sorted(browser.run("told")) == ["guess refused", "known refused"]
            before = set(page._server._websock_server._live_connections)
            browser.run(f"document.body.innerHTML = `{page._repr_html_()}`")
            end = time.perf_counter() + 40.0
            while set(page._server._websock_server._live_connections) <= before:
                assert time.perf_counter() < end, "the iframe did not connect"
                time.sleep(0.2)
            if folder := os.environ.get("CATENA_SCREENSHOTS"):
                time.sleep(8.0)
                Path(folder, "iframe.png").write_bytes(browser.screenshot())
        finally:
            browser.close()
            elsewhere.shutdown()
