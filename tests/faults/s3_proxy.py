"""A proxy before the S3 server that does wrong by rule: which method, which key, how often.

Requests pass as they come, so that signatures hold. What a rule strikes is cut off, falsified,
refused, answered late or never; all that passed is kept in a log.
"""

from __future__ import annotations

import fnmatch
import http.client
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from email.utils import format_datetime, parsedate_to_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from storage import S3Server

Do = Literal[
    "refuse",  # answer with an error, not asking the server
    "hang",  # take the request and never answer, not asking the server
    "lose",  # let the server do it, and break the connection before its answer
    "swallow",  # let the server do it, and never answer
    "cut",  # send the head and half of the body, then break the connection
    "truncate",  # send half of the body as if it were all
    "flip",  # change one byte of the body
    "delay",  # pass everything, but later
    "call",  # call a function first, then pass everything
    "strip",  # take one header from the request
    "clock",  # answer with other times
    "close",  # break the connection, not asking the server
]
_CODES = {403: "AccessDenied", 409: "ConditionalRequestConflict", 500: "InternalError"}
_SIGNED = ("content-type", "content-md5", "if-match", "if-none-match", "range")
_HOP = ("content-length", "transfer-encoding", "connection")
LONGEST = 900.0
"""Seconds that a silence lasts if nobody ends it."""


@dataclass(frozen=True)
class Rule:
    """What is done to requests that match."""

    do: Do
    key: str = "*"
    """Pattern of bucket/key, or of bucket for a listing."""
    method: str = "*"
    times: int | None = None
    """How often; None: always."""
    after: int = 0
    """How many matching requests pass before."""
    share: float = 1.0
    """Share of the matching requests it strikes, at random by the proxy's seed."""
    status: int = 503
    seconds: float = 1.0
    header: str = ""
    shift: timedelta = timedelta()
    call: Callable[[], object] = lambda: None


@dataclass(frozen=True)
class Passed:
    """A request that came."""

    method: str
    key: str
    query: str
    struck: str
    """What was done to it; empty if it passed."""


@dataclass
class FaultyS3:
    """The proxy; rules may be given and taken while it runs."""

    server: S3Server
    """The server behind it."""
    rules: list[Rule] = field(default_factory=list)
    log: list[Passed] = field(default_factory=list)
    seed: int = 0
    port: int = 0
    _seen: dict[int, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _over: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    @property
    def front(self) -> S3Server:
        """The server as it is seen through the proxy."""
        return replace(self.server, endpoint=f"http://127.0.0.1:{self.port}")

    def mend(self) -> None:
        """Do no more wrong; who waits for an answer is let go."""
        with self._lock:
            self.rules.clear()
            self._seen.clear()
        self._over.set()
        self._over = threading.Event()

    def struck(self, do: str) -> int:
        """How many requests something was done to."""
        return sum(one.struck == do for one in self.log)

    def wait(self, seconds: float) -> None:
        """Stay silent until the end, or until all is mended."""
        self._over.wait(seconds)

    def rule_for(self, method: str, path: str) -> Rule | None:
        """The first rule that strikes a request, which is noted."""
        address = urlsplit(path)
        key = unquote(address.path).strip("/")
        with self._lock:
            found = next((rule for rule in self.rules if self._strikes(rule, method, key)), None)
            self.log.append(Passed(method, key, address.query, "" if found is None else found.do))
        return found

    def _strikes(self, rule: Rule, method: str, key: str) -> bool:
        if rule.method not in ("*", method) or not fnmatch.fnmatchcase(key, rule.key):
            return False
        if rule.share < 1.0 and self._random.random() >= rule.share:
            return False
        seen = self._seen[id(rule)] = self._seen.get(id(rule), 0) + 1
        return rule.after < seen and (rule.times is None or seen <= rule.after + rule.times)


@contextmanager
def faulty(server: S3Server, *rules: Rule, seed: int = 0) -> Iterator[FaultyS3]:
    """A proxy on loopback, until the block ends."""
    proxy = FaultyS3(server, list(rules), seed=seed)

    class Handler(_Handler):
        faults = proxy

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False
        request_queue_size = 128

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Nobody is told: clients go away while they are waited for."""

    with Server(("127.0.0.1", 0), Handler) as listening:
        proxy.port = listening.server_port
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield proxy
        finally:
            proxy.mend()
            listening.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    faults: FaultyS3

    def __getattr__(self, name: str) -> Callable[[], None]:
        if name.startswith("do_"):  # whatever the method
            return self.answer
        raise AttributeError(name)

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def answer(self) -> None:
        """Pass a request on, as the rules allow."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        rule = self.faults.rule_for(self.command, self.path)
        do = "" if rule is None else rule.do
        if rule is not None:
            if do == "refuse":
                return self._refuse(rule.status)
            if do == "hang":
                self.faults.wait(LONGEST)
            if do in ("hang", "close"):
                return self._break()
            if do == "delay":
                time.sleep(rule.seconds)
            if do == "call":
                rule.call()
        strip = rule.header if rule is not None and do == "strip" else ""
        status, headers, data = self._asked(body, strip)
        if do == "swallow":
            self.faults.wait(LONGEST)
        if do in ("swallow", "lose"):
            return self._break()
        if do == "truncate":
            data = data[: len(data) // 2]
        if do == "flip" and data:
            middle = len(data) // 2
            data = data[:middle] + bytes([data[middle] ^ 0x01]) + data[middle + 1 :]
        length = len(data)
        if self.command == "HEAD":
            length = int(dict(headers).get("Content-Length", 0))
        if do == "cut":
            data = data[: length // 2]
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() in ("last-modified", "date") and rule is not None and do == "clock":
                self.send_header(name, _moved(value, rule.shift))
            elif name.lower() not in _HOP:
                self.send_header(name, value)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        with suppress(OSError):
            self.wfile.write(data)
        if do == "cut":
            self._break()

    def _asked(self, body: bytes, strip: str) -> tuple[int, list[tuple[str, str]], bytes]:
        """What the server behind says."""
        server = self.faults.server
        headers = {name: value for name, value in self.headers.items() if name != "Connection"}
        if strip:  # a signature holds for unchanged headers
            headers = self._signed_anew(body, strip)
        connection = http.client.HTTPConnection(urlsplit(server.endpoint).netloc, timeout=60)
        try:
            connection.request(self.command, self.path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.getheaders(), answer.read()
        finally:
            connection.close()

    def _signed_anew(self, body: bytes, strip: str) -> dict[str, str]:
        server = self.faults.server
        kept = {
            name: value
            for name, value in self.headers.items()
            if name.lower() in _SIGNED and name.lower() != strip.lower()
        }
        request = AWSRequest(self.command, f"{server.endpoint}{self.path}", kept, body)
        request.context["payload_signing_enabled"] = True
        S3SigV4Auth(Credentials(server.key, server.secret), "s3", "us-east-1").add_auth(request)
        return dict(request.headers.items())

    def _refuse(self, status: int) -> None:
        code = _CODES.get(status, "SlowDown")
        body = f"<Error><Code>{code}</Code><Message>planted</Message></Error>".encode()
        self.send_response_only(status)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _break(self) -> None:
        self.close_connection = True
        with suppress(OSError):
            self.wfile.flush()
            self.connection.shutdown(2)


def _moved(text: str, by: timedelta) -> str:
    return format_datetime(parsedate_to_datetime(text) + by, usegmt=True)
