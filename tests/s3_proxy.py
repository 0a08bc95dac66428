"""A proxy before the S3 server that changes what passes: stores that are not as they should be."""

import http.client
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from email.utils import format_datetime, parsedate_to_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from storage import S3Server

_SIGNED = ("content-type", "content-md5", "if-match", "if-none-match", "range")
"""What is handed on; everything is signed anew, since a signature holds for unchanged headers."""


@contextmanager
def proxied(
    server: S3Server, *, strip: str = "", refuse: str = "", clock: timedelta = timedelta()
) -> Iterator[S3Server]:
    """The server without one header of requests, without one method, or with another clock."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.command == refuse:
                return self.send_error(403)
            kept = {
                name: value
                for name, value in self.headers.items()
                if name.lower() in _SIGNED and name.lower() != strip.lower()
            }
            request = AWSRequest(self.command, f"{server.endpoint}{self.path}", kept, body)
            request.context["payload_signing_enabled"] = True
            S3SigV4Auth(Credentials(server.key, server.secret), "s3", "us-east-1").add_auth(request)
            connection = http.client.HTTPConnection(urlsplit(server.endpoint).netloc, timeout=30)
            connection.request(self.command, self.path, body, dict(request.headers.items()))
            answer = connection.getresponse()
            data = answer.read()
            connection.close()
            self.send_response_only(answer.status)
            for name, value in answer.getheaders():
                if name.lower() in ("last-modified", "date"):
                    self.send_header(name, _moved(value, clock))
                elif name.lower() not in ("content-length", "transfer-encoding", "connection"):
                    self.send_header(name, value)
            length = answer.getheader("Content-Length", "0") if self.command == "HEAD" else ""
            self.send_header("Content-Length", length or str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def __getattr__(self, name: str) -> Callable[[], None]:
            if name.startswith("do_"):  # whatever the method
                return self.do_any
            raise AttributeError(name)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield replace(server, endpoint=f"http://127.0.0.1:{proxy.server_port}")
        finally:
            proxy.shutdown()
            thread.join()


def _moved(text: str, by: timedelta) -> str:
    return format_datetime(parsedate_to_datetime(text) + by, usegmt=True)
