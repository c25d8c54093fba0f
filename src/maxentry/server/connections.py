"""Clients and their connections: one client may not take the connections of all others."""

from __future__ import annotations

import asyncio
import ssl
from contextvars import ContextVar
from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from maxentry.server import problems
from maxentry.server.options import Options


def client_name(address: str) -> str:
    """The client at an address: of IPv6 its network (/64), in which one client has any number of addresses."""
    try:
        ip = ip_address(address)
    except ValueError:
        return address
    if not isinstance(ip, IPv6Address):
        return str(ip)
    return str(ip.ipv4_mapped or IPv6Network((int(ip) >> 64 << 64, 64)))


# The client whose request is being handled; "" for work of the server itself.
CLIENT: ContextVar[str] = ContextVar("client", default="")


class LimitedProtocol(H11Protocol):
    """HTTP on one connection: one too many of a client, or one that is silent for too long, is closed.

    A request has `head_seconds` for its head, from the connection or from the last response on, and so has a TLS
    handshake. With TLS a connection is counted before its handshake, so it is this class that starts TLS (with the
    context in `app.state.tls`). The connections of a proxy that was named are not counted, since they are those of many
    clients.
    """

    name = ""
    _timer: asyncio.TimerHandle | None = None
    _handshake: asyncio.Task[None] | None = None
    _early = b""  # what came with the end of the handshake

    @property
    def _options(self) -> Options:
        options: Options = self.config.app.state.options  # type: ignore[union-attr]
        return options

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count the connection among those of its client; refuse it if there are too many."""
        super().connection_made(transport)
        address = self.client[0] if self.client else ""
        self.name = client_name(address)
        most = self._options.limits.client_connections
        same = sum(getattr(other, "name", "") == self.name for other in self.connections)
        tls: ssl.SSLContext | None = getattr(self.config.app.state, "tls", None)  # type: ignore[union-attr]
        if same > most and not self._options.is_proxy(address):
            if tls is None:
                refusal = problems.too_busy(f"expected at most {most} connections of one client, got more.")
                transport.write(_write_response(refusal.response()))
            transport.close()
        elif tls is not None:
            transport.pause_reading()  # what arrives is for the handshake
            self._handshake = self.loop.create_task(self._secure(transport, tls))
        else:
            self._watch()

    async def _secure(self, plain: asyncio.Transport, tls: ssl.SSLContext) -> None:
        """Speak TLS from here on; a handshake that fails or takes too long ends the connection."""
        seconds = self._options.limits.head_seconds
        try:
            secure = await self.loop.start_tls(
                plain, self, tls, server_side=True, ssl_handshake_timeout=seconds
            )
        except OSError:  # of TLS and of the line, and that it took too long
            secure = None
        self._handshake = None
        if secure is None:
            self.connections.discard(self)
            plain.abort()
            return
        super().connection_made(secure)
        early, self._early = self._early, b""
        if early:
            super().data_received(early)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Take what arrived."""
        if self._handshake is not None:
            self._early += data
            return
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Wait for the head of a request, and no longer than the limit says."""
        if self.transport.is_closing() or (self.cycle is not None and not self.cycle.response_complete):
            self._stop()
        elif self._timer is None:
            seconds = self._options.limits.head_seconds
            self._timer = self.loop.call_later(seconds, self.timeout_keep_alive_handler)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _write_response(response: Any) -> bytes:
    """A whole response as it goes over the line, before any request was read."""
    lines = [b"HTTP/1.1 %d Refused" % response.status_code, b"connection: close"]
    lines += [name + b": " + value for name, value in response.raw_headers]
    return b"\r\n".join([*lines, b"", bytes(response.body)])
