"""HTTP/1.1 byte by byte, for requests that no client library would send."""

import contextlib
import json
import socket
import types

import harness


def head_of(method, path, *fields, version="HTTP/1.1", host="localhost"):
    lines = [f"{method} {path} {version}"]
    if host is not None:
        lines.append(f"Host: {host}")
    return ("\r\n".join([*lines, *fields]) + "\r\n\r\n").encode("latin-1")


def request_of(method, path, body=b"", *fields, **more):
    body = body.encode() if isinstance(body, str) else body
    return head_of(method, path, "Content-Type: application/json",
                   f"Content-Length: {len(body)}", *fields, **more) + body


class Wire:
    """A connection. is_narrow: the kernel takes next to nothing that is not read."""

    def __init__(self, port, host="127.0.0.1", is_narrow=False):
        self.socket = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        self.socket.settimeout(harness.GUARD_SECONDS)
        if is_narrow:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.connect((host, port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.file.close()
        self.socket.close()

    def send(self, data):
        """As much as the server takes: it may answer, and leave, before it has heard all."""
        with contextlib.suppress(ConnectionError):
            self.socket.sendall(data)

    def head(self):
        """Status and headers of the next answer, names in lower case."""
        line = self.file.readline()
        if not line:
            raise ConnectionError("the server closed without an answer")
        version, status = line.split()[:2]
        headers = {}
        while (line := self.file.readline()) not in (b"\r\n", b""):
            name, value = line.decode("latin-1").split(":", 1)
            headers[name.lower()] = value.strip()
        return types.SimpleNamespace(version=version.decode(), status=int(status), headers=headers,
                                     body=b"")

    def chunk(self):
        """The next piece of a chunked body; nothing at its end."""
        size = int(self.file.readline().split(b";")[0], 16)
        data = self.file.read(size)
        self.file.readline()
        return data

    def answer(self, method="GET"):
        answer = self.head()
        if method == "HEAD" or answer.status in (204, 304) or answer.status < 200:
            return answer
        if answer.headers.get("transfer-encoding") == "chunked":
            while piece := self.chunk():
                answer.body += piece
        elif "content-length" in answer.headers:
            answer.body = self.file.read(int(answer.headers["content-length"]))
        else:
            answer.body = self.file.read()
        return answer

    def is_closed(self):
        """Whether the server ends the connection, and says nothing before."""
        try:
            return self.file.read(1) == b""
        except ConnectionError:
            return True


class WireCase(harness.Case):
    def wire(self, **more):
        wire = Wire(self.server.port, **more)
        self.addCleanup(wire.close)
        return wire

    def talk(self, data, method="GET"):
        with Wire(self.server.port) as wire:
            wire.send(data)
            return wire.answer(method)

    def error_of(self, answer, status):
        """The error of an answer of that status, which must be JSON."""
        self.assertEqual(answer.status, status, answer)
        self.assertEqual(answer.headers["content-type"], "application/json")
        self.assertIn("x-request-id", answer.headers)
        error = json.loads(answer.body)["error"]
        self.assertTrue(error["message"])
        return error

    def gauge(self, name):
        for line in self.http.get("/metrics").text.splitlines():
            if line.startswith(name + "{"):
                return float(line.split()[-1])
        raise AssertionError(f"there is no {name}")

    def counted(self, sample):
        """The value of a line of the metrics, with its labels; 0 where there is none."""
        for line in self.http.get("/metrics").text.splitlines():
            if line.startswith(sample + " "):
                return float(line.split()[-1])
        return 0

    def wait_for(self, condition):
        harness.wait_for(condition)

    def wait_until_idle(self):
        self.wait_for(lambda: self.gauge("zllm_running_requests") == 0
                      and self.gauge("zllm_queued_requests") == 0)

    def stalled(self, **fields):
        """A stream that has begun, is not read, and cannot end before it is: a server that is
        started with NARROW has no room for it."""
        wire = self.wire(is_narrow=True)
        wire.send(request_of("POST", "/v1/chat/completions", stalled_body(**fields)))
        self.assertEqual(wire.head().status, 200)
        return wire


def chat_body(**fields):
    return json.dumps({"messages": [harness.user("Hi")], "max_tokens": 2, "temperature": 0,
                       **fields})


# Of an answer that its client does not read, the server keeps so much.
NARROW = ("--max-buffer-bytes", "4096", "--write-timeout", harness.NEVER)


def stalled_body(**fields):
    # Log-probabilities make the stream large.
    return chat_body(**{"stream": True, "max_tokens": 7000, "ignore_eos": True, "logprobs": True,
                        "top_logprobs": 20, **fields})


def endless_body(**fields):
    """Minutes of work for any machine, whether it is read or not."""
    return chat_body(**{"max_tokens": 7000, "ignore_eos": True, "n": 128, **fields})


class OwnServerCase(WireCase):
    """Each test has a server of its own, which it starts."""

    @classmethod
    def setUpClass(cls):
        pass

    @classmethod
    def tearDownClass(cls):
        pass
