"""Clients and their connections: one client may not take the connections of all others."""

from __future__ import annotations

import asyncio
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


class LimitedProtocol(H11Protocol):
    """HTTP on one connection: one too many of a client, or one that is silent for too long, is closed.

    A request has `head_seconds` for its head, from the connection or from the last response on. The connections of a
    proxy that was named are not counted, since they are those of many clients.
    """

    name = ""
    _timer: asyncio.TimerHandle | None = None

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
        if same > most and not self._options.is_proxy(address):
            refusal = problems.too_busy(f"expected at most {most} connections of one client, got more.")
            transport.write(_write_response(refusal.response()))
            transport.close()
            return
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Take what arrived."""
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
