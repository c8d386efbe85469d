"""A server of viser that answers only those who were given its address, on this machine, and shares with nobody.

Whatever page is open in the same browser can send requests to this machine. So each request must name this machine as
its Host (a foreign name that leads here is a trick), come from no other page (Origin), and begin with a token that is
drawn anew for each server. viser has no place for such rules; its worker is run with a `websockets` of ours, which asks
them first. Where that does not take hold, as with an unknown version of viser, nothing is served.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http import HTTPStatus
from types import FunctionType, MethodType
from typing import Any
from urllib.parse import urlsplit

from rich import get_console

from catena.errors import CatenaError, ShapeError
from catena.later import optional

HOST = "127.0.0.1"
"""Pages are for this machine only."""
HERE = (HOST, "localhost")
"""Names of this machine in an address; the port may be another one, that of a tunnel."""

_Answer = Callable[[Any, Any], Any]


class Guard:
    """The rules, for one server. `token` is the first part of every path; `asked` is whether the rules are in force."""

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(24)
        self.asked = False

    def refusal(self, path: str, hosts: list[str], origins: list[str]) -> str | None:
        """Why a request is refused; None for one that is answered."""
        if len(hosts) != 1 or _name(hosts[0]) not in HERE:
            return "the Host is not this machine"
        if origins not in ([], [f"http://{hosts[0]}"]):  # programs that are no browsers have none
            return "another page asks"
        given = path.partition("?")[0].strip("/").partition("/")[0]
        if not secrets.compare_digest(given.encode(errors="replace"), self.token.encode()):
            return "the address lacks the token; open the one that was printed"
        return None

    def answering(self, answer: _Answer) -> _Answer:
        """What answers requests of HTTP, and WebSockets before they open, with the rules in front and the token off."""

        def guarded(connection: Any, request: Any) -> Any:
            found = (request.headers.get_all(name) for name in ("Host", "Origin"))
            reason = self.refusal(request.path, *found)
            if reason is not None:
                return connection.respond(HTTPStatus.FORBIDDEN, f"Refused: {reason}.\n")
            response = answer(connection, replace(request, path=request.path.replace(self.token, "", 1)))
            if response is not None:
                response.headers["Referrer-Policy"] = "no-referrer"  # so that links on the page do not tell the token
            return response

        return guarded

    def worker(self, server: Any) -> Any:
        """The worker of viser's server, with these rules; it is the same code, with other global names."""
        plain = type(server)._background_worker
        names = plain.__globals__

        def serve(*given: Any, process_request: _Answer, **more: Any) -> Any:
            self.asked = True
            return names["websockets"].asyncio.server.serve(
                *given, process_request=self.answering(process_request), **more
            )

        asyncio = names["websockets"].asyncio
        changed = _Instead(names["websockets"], asyncio=_Instead(asyncio, server=_Instead(asyncio.server, serve=serve)))
        copy = FunctionType(plain.__code__, {**names, "websockets": changed}, plain.__name__, plain.__defaults__)
        return MethodType(copy, server)


class _Instead:
    """A module with some names replaced."""

    def __init__(self, module: Any, **names: Any) -> None:
        self._module = module
        self.__dict__.update(names)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


def _name(host: str) -> str | None:
    """The name in a Host, without its port; None for what is none."""
    try:
        found = urlsplit(f"//{host}")
        return found.hostname if found.netloc == host and "@" not in host and found.port != 0 else None
    except ValueError:
        return None


def serving(name: str, port: int) -> tuple[Any, str]:
    """A server of viser that prints nothing, and its address."""
    viser = optional("viser", "view", "pages in the browser need viser")
    if not isinstance(port, int) or not 0 < port < 65536:
        raise ShapeError(f"view: port must be a number from 1 to 65535, got {port!r}")
    guard = Guard()

    class Guarded(viser.ViserServer):  # type: ignore[misc, name-defined]
        """viser's server, which meets the guard before its worker starts."""

        @property
        def _websock_server(self) -> Any:
            return self.__dict__["websock"]

        @_websock_server.setter
        def _websock_server(self, server: Any) -> None:
            server._background_worker = guard.worker(server)
            self.__dict__["websock"] = server

        def request_share_url(self, verbose: bool = True) -> None:
            """Nothing is shared, whoever asks: a tunnel would open this machine to all."""

    try:
        with quietly():
            server = Guarded(host=HOST, port=port, label=name, verbose=False)
    except OSError as error:
        raise CatenaError(f"view: no page can be served at port {port}: {error}; give another port=…") from None
    if not guard.asked:
        with quietly():
            server.stop()
        raise CatenaError(f"view: this version of viser ({viser.__version__}) cannot be guarded; install viser 1.1")
    return server, f"http://{HOST}:{server.get_port()}/{guard.token}"


@contextmanager
def quietly() -> Iterator[None]:
    """What viser prints by rich's own console stays unsaid."""
    console = get_console()
    before, console.quiet = console.quiet, True
    try:
        yield
    finally:
        console.quiet = before
