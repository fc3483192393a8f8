"""HTTP/1.1 by hand on plain sockets."""

import contextlib
import socket

from http_case import GUARD_SECONDS


def connect(server, receive_buffer=None):
    raw = socket.socket()
    if receive_buffer:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    raw.settimeout(GUARD_SECONDS)
    raw.connect(("127.0.0.1", server.port))
    return raw


def read_until_closed(raw):
    data = b""
    with contextlib.suppress(ConnectionResetError):
        while piece := raw.recv(65536):
            data += piece
    return data


def read_response(stream):
    """One response from a file of the socket: its status, headers and body."""
    status = int(stream.readline().split()[1])
    headers = {}
    while (line := stream.readline().strip()):
        name, _, value = line.partition(b":")
        headers[name.decode().lower()] = value.strip().decode()
    if headers.get("transfer-encoding") == "chunked":
        body = b""
        while (size := int(stream.readline(), 16)):
            body += stream.read(size)
            stream.readline()
        stream.readline()
    else:
        body = stream.read(int(headers.get("content-length", 0)))
    return status, headers, body


def get(path, *fields):
    lines = [f"GET {path} HTTP/1.1", "host: test", *fields, "", ""]
    return "\r\n".join(lines).encode()


def tell(raw, request):
    """Sends as much as the server takes: it may answer, and leave, before it has heard all."""
    with contextlib.suppress(ConnectionError):
        raw.sendall(request)


def status_of(server, request):
    """0 where the server closes without an answer."""
    with connect(server) as raw:
        tell(raw, request)
        answer = read_until_closed(raw)
    return int(answer.split()[1]) if answer else 0
