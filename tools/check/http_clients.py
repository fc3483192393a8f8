"""http_clients.py SERVER: HTTP/1.1, 2 and 3 clients against the program test/http_echo_server.

Needs h2, aioquic and cryptography. Prints a line a case; the last line is "passed failed".
"""

import asyncio
import contextlib
import itertools
import pathlib
import re
import select
import socket
import ssl
import sys
import tempfile
import time

import http3_cases  # noqa: F401  its cases are among CASES
import http_server
from http1_client import connect, get, read_response, read_until_closed, status_of, tell
from http2_client import Http2
from http3_client import connected
from http_case import CASES, MIB, NEVER, case, until


@case
def keep_alive_and_pipelining(start):
    with start() as server, connect(server) as raw:
        stream = raw.makefile("rb")
        for _ in range(3):
            raw.sendall(get("/hello"))
            assert read_response(stream)[::2] == (200, b"hello")
        raw.sendall(get("/echo?a=1") * 3)
        for _ in range(3):
            status, headers, _ = read_response(stream)
            assert (status, headers["x-query"]) == (200, "a=1")


@case
def requests_arrive_as_sent(start):
    with start() as server, connect(server) as raw:
        stream = raw.makefile("rb")
        raw.sendall(get("/echo?%2e%20x?q=%20&r", "X-Sent: caf\u00e9"))
        status, headers, _ = read_response(stream)
        assert status == 200 and headers["x-query"] == "%2e%20x?q=%20&r", headers
        assert headers["x-seen-x-sent"] == "caf\u00e9", headers
        raw.sendall(b"POST http://other:1/echo?z HTTP/1.1\r\nHost: test\r\nX-Sent: \xff!\r\n"
                    b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
        status, headers, body = read_response(stream)
        assert (status, body) == (200, b"abcde")
        assert headers["x-path"] == "/echo" and headers["x-query"] == "z"
        assert headers["x-seen-host"] == "other:1" and headers["x-version"] == "1"
        assert headers["x-seen-x-sent"] == "\ufffd!", headers
        assert "x-split" not in headers and "x-forged" not in headers
        raw.sendall(b"POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
                    b"Content-Length: 2\r\n\r\n")
        assert stream.readline().split()[1] == b"100" and stream.readline() == b"\r\n"
        raw.sendall(b"ok")
        assert read_response(stream)[2] == b"ok"


@case
def head_has_the_length_and_no_body(start):
    with start() as server, connect(server) as raw:
        raw.sendall(get("/hello", "connection: close").replace(b"GET", b"HEAD"))
        answer = read_until_closed(raw)
        head, _, body = answer.partition(b"\r\n\r\n")
        assert b"content-length: 5" in head.lower() and body == b"", answer
    with start() as server, connect(server) as raw:
        raw.sendall(get("/stream?n=5").replace(b"GET", b"HEAD") + get("/hello"))
        answer = b""
        while not answer.endswith(b"hello"):
            piece = raw.recv(4096)
            assert piece, answer
            answer += piece
        assert answer.count(b"HTTP/1.1 200") == 2 and b"data:" not in answer


@case
def streams_arrive_whole(start):
    with start() as server, connect(server) as raw:
        raw.sendall(get("/stream?n=10000"))
        body = read_response(raw.makefile("rb"))[2]
        assert body == b"".join(b"event: piece\ndata: %d\n\n" % i for i in range(10000))


@case
def what_is_not_http_gets_400(start):
    with start() as server:
        for request in [b"nonsense\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET  /\x01 HTTP/1.1\r\n\r\n",
                        b"GET / HTTP/1.1\r\nbad header\r\n\r\n",
                        b"GET / HTTP/1.1\r\nhost: a\r\ncontent-length: x\r\n\r\n",
                        b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
                        b"GET / HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n",
                        b"CONNECT a:1 HTTP/1.1\r\nhost: a:1\r\n\r\n",
                        b"POST /echo HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
                        b"POST /echo HTTP/1.1\r\nhost: a\r\ntransfer-encoding: x\r\n\r\n"]:
            status = status_of(server, request)
            assert status in (400, 501), (request, status)
        assert status_of(server, get("/hello", "connection: close")) == 200


@case
def limits_of_size_have_their_statuses(start):
    with start(body_bytes=1000, header_bytes=2000, target_bytes=300) as server:
        closing = "connection: close"
        assert status_of(server, get("/" + "a" * 299, closing)) == 404
        assert status_of(server, get("/" + "a" * 300, closing)) == 414
        assert status_of(server, get("/" + "a" * 5000, closing)) == 414
        assert status_of(server, get("/hello", closing, "x: " + "a" * 1900)) == 200
        assert status_of(server, get("/hello", closing, "x: " + "a" * 2000)) == 431
        assert status_of(server, get("/hello", closing, "x: " + "a" * 100000)) == 431
        post = b"POST /echo HTTP/1.1\r\nhost: a\r\n"
        assert status_of(server, post + b"connection: close\r\ncontent-length: 1000\r\n\r\n"
                         + b"x" * 1000) == 200
        # Refused at once, and told though most of the body was on its way.
        assert status_of(server, post + b"content-length: 1001\r\n\r\n") == 413
        assert status_of(server, post + b"content-length: 9000000\r\n\r\n" + b"x" * 9000000) == 413
        chunk = b"200\r\n" + b"x" * 512 + b"\r\n"
        assert status_of(server, post + b"transfer-encoding: chunked\r\n\r\n" + chunk * 2) == 413
        expecting = post + b"expect: 100-continue\r\ncontent-length: 1001\r\n\r\n"
        assert status_of(server, expecting) == 413


@case
def slow_heads_and_bodies_end(start):
    slow = {"header_seconds": (b"GET /hello HT", b"P", b"PRI * HT"),
            "body_seconds": (b"POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nab",)}
    for name, requests in slow.items():
        with start(**{name: 0.2}) as server:
            for request in requests:
                begin = time.monotonic()
                assert status_of(server, request) == 408, request
                assert time.monotonic() - begin >= 0.2, request


@case
def a_drop_at_a_time_does_not_help(start):
    with start(header_seconds=0.2) as server, connect(server) as raw:
        tell(raw, b"GET /hello HTTP/1.1\r\n")
        endless = itertools.cycle(b"x: y\r\n")

        def is_answered():
            tell(raw, bytes([next(endless)]))
            return select.select([raw], [], [], 0)[0]

        until(is_answered)
        assert b" 408 " in read_until_closed(raw)


@case
def idle_connections_end(start):
    with start(idle_seconds=0.2) as server:
        begin = time.monotonic()
        assert status_of(server, b"") == 0
        assert time.monotonic() - begin >= 0.2
        # Who asks too late is not heard any more, and asks anew.
        until(lambda: status_of(server, get("/hello")) == 200)


@case
def an_answer_may_take_longer_than_all_limits(start):
    with start(header_seconds=0.1, body_seconds=0.1, idle_seconds=0.2) as server:
        raw = connect(server)
        tell(raw, get("/hang"))

        def is_held():
            nonlocal raw
            if select.select([raw], [], [], 0)[0]:  # asked too late, and was not heard any more
                raw.close()
                raw = connect(server)
                tell(raw, get("/hang"))
            return server.said("held /hang")

        until(is_held)
        with raw:
            # Who begins now goes before it.
            until(lambda: status_of(server, b"G") == 408)
            assert status_of(server, b"") == 0
            until(lambda: status_of(server, get("/release", "connection: close")) == 200)
            assert read_response(raw.makefile("rb"))[2] == b"released"


@case
def held_connections_stall_nobody(start):
    with start(connections=40) as server, contextlib.ExitStack() as held:
        for i in range(39):
            raw = held.enter_context(connect(server))
            raw.sendall([b"", b"GET /he", get("/hang")][i % 3])
        with connect(server) as raw:
            raw.sendall(get("/hello"))
            assert read_response(raw.makefile("rb"))[2] == b"hello"
            with connect(server) as more:
                assert b" 503 " in read_until_closed(more)
        until(lambda: status_of(server, get("/hello", "connection: close")) == 200)


@case
def http1_clients_that_leave_are_noticed(start):
    with start() as server:
        for path in ("/hang", "/drip"):
            with connect(server) as raw:
                raw.sendall(get(path))
                server.line(f"held {path}")
            server.line(f"gone {path}")


@case
def broken_answers_look_broken(start):
    with start() as server, connect(server) as raw:
        raw.sendall(get("/broken"))
        server.line("held /broken")
        assert status_of(server, get("/break", "connection: close")) == 200
        assert not read_until_closed(raw).endswith(b"0\r\n\r\n")


@case
def slow_readers_hold_little_memory(start):
    with start(buffer_bytes=65536) as server, connect(server, 4096) as raw:
        before = server.most_memory()
        raw.sendall(get("/pump?n=100000&size=1000", "connection: close"))
        server.line("pump waits")
        size = 0
        while piece := raw.recv(1 << 20):
            size += len(piece)
        assert size > 100_000_000
        most = int(server.line("pump left 0").rpartition(" ")[2])
        assert most <= 65536 + 1000, most
        assert server.most_memory() - before < 8 * MIB


@case
def readers_that_take_nothing_are_cut(start):
    with start(write_seconds=0.4) as server:
        with connect(server, 4096) as raw:
            raw.sendall(get("/pump?n=1000000&size=1000"))
            server.line("pump cut")
        with Http2(server.port) as client:
            client.stop_reading()
            stream = client.request("GET", "/pump?n=10000&size=1000")
            server.line("pump cut")
            assert client.wait(stream).is_reset
            assert client.wait(client.request("GET", "/hello")).body == b"hello"


@case
def http2_by_prior_knowledge(start):
    with start() as server, Http2(server.port) as client:
        streams = [client.request("POST", f"/echo?{i}", b"%d" % i) for i in range(100)]
        for i, stream in enumerate(streams):
            answer = client.wait(stream)
            assert answer.body == b"%d" % i and answer.headers["x-version"] == "2"
            assert answer.headers["x-seen-host"] == "localhost"
        answer = client.wait(client.request("HEAD", "/hello"))
        assert answer.headers["content-length"] == "5" and answer.body == b""
        big = bytes(range(256)) * 8192
        assert client.wait(client.request("POST", "/echo", big)).body == big
        body = client.wait(client.request("GET", "/stream?n=1000")).body
        assert body.endswith(b"data: 999\n\n")


@case
def http2_has_limits(start):
    sizes = {"body_bytes": 1000, "header_bytes": 2000, "target_bytes": 300}
    with start(**sizes) as server, Http2(server.port) as client:
        def status(*arguments, **more):
            return client.wait(client.request(*arguments, **more)).status
        assert status("GET", "/" + "a" * 300) == 414
        assert status("GET", "/hello", fields=[("x", "a" * 2000)]) == 431
        assert status("GET", "/hello", fields=[("x", "a" * 30000)]) == 431
        assert status("POST", "/echo", b"x" * 1001) == 413
        assert status("POST", "/echo", b"x" * 1000) == 200
    with start(body_seconds=0.2) as server, Http2(server.port) as client:
        begin = time.monotonic()
        assert client.wait(client.request("POST", "/echo", b"x", ends=False)).status == 408
        assert time.monotonic() - begin >= 0.2
    with start(idle_seconds=0.2) as server:
        statuses = []
        while 200 not in statuses:  # who asks too late is not heard any more
            begin = time.monotonic()
            with Http2(server.port) as client:
                statuses.append(client.wait(client.request("GET", "/hello")).status)
                client.wait_until_closed()
            assert time.monotonic() - begin >= 0.2


@case
def http2_clients_that_leave_are_noticed(start):
    with start() as server, Http2(server.port) as client:
        for path in ("/hang", "/drip"):
            stream = client.request("GET", path)
            server.line(f"held {path}")
            client.reset(stream)
            server.line(f"gone {path}")
        client.request("GET", "/hang")
        server.line("held /hang")
        client.close()
        server.line("gone /hang")


@case
def http2_slow_streams_stall_only_themselves(start):
    with start(buffer_bytes=65536) as server, Http2(server.port) as client:
        client.stop_reading()
        slow = client.request("GET", "/pump?n=10000&size=1000")
        quick = client.request("GET", "/hello")
        assert client.wait(quick).body == b"hello"
        client.read_on()
        assert len(client.wait(slow).body) == 10_000_000
        most = int(server.line("pump left 0").rpartition(" ")[2])
        assert most <= 65536 + 1000, most


@case
def http2_resets_in_haste_end_the_connection(start):
    with start() as server, Http2(server.port) as client:
        client.reset_in_haste(100)
        client.wait_until_closed()
        assert status_of(server, get("/hello", "connection: close")) == 200


@case
def tls_speaks_what_is_negotiated(start):
    with start(tls=True) as server:
        context = server.context()
        with context.wrap_socket(connect(server), server_hostname="localhost") as raw:
            raw.sendall(get("/echo"))
            headers = read_response(raw.makefile("rb"))[1]
            assert headers["x-encrypted"] == "true" and headers["x-version"] == "1"
            assert re.fullmatch(f'h3=":{server.port}"; ma=\\d+', headers["alt-svc"])
        with Http2(server.port, context) as client:
            headers = client.wait(client.request("GET", "/echo")).headers
            assert headers["x-encrypted"] == "true" and headers["x-version"] == "2"
            assert "alt-svc" in headers
        with connect(server) as raw:
            raw.sendall(get("/hello"))
            assert b"hello" not in read_until_closed(raw)
    with start(tls=True, header_seconds=0.2) as server, connect(server) as raw:
        assert read_until_closed(raw) == b""


@case
def a_drain_lets_answers_end(start):
    async def http3(server, stopping):
        async with connected(server) as client:
            drip = client.request("GET", "/drip")
            await asyncio.to_thread(server.line, "held /drip")
            await asyncio.to_thread(stopping)
            assert b"last" in (await client.wait(drip)).body
    with start(tls=True) as server:
        context = server.context()
        first = context.wrap_socket(connect(server), server_hostname="localhost")
        idle = context.wrap_socket(connect(server), server_hostname="localhost")
        releasing = context.wrap_socket(connect(server), server_hostname="localhost")
        with first, idle, releasing, Http2(server.port, context) as client:
            first.sendall(get("/drip"))
            server.line("held /drip")
            stream = client.request("GET", "/drip")
            server.line("held /drip")
            # Its body comes when the server has begun to stop.
            releasing.sendall(b"POST /release HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\n"
                              b"content-length: 1\r\n\r\n")
            assert b" 100 " in releasing.recv(4096)

            def stopping():
                server.tell(f"stop {NEVER}")
                assert read_until_closed(idle) == b""
                # Who comes now is heard, to be refused, and not waited for.
                late = server.context().wrap_socket(connect(server), server_hostname="localhost")
                with late:
                    late.sendall(get("/hello"))
                    assert read_response(late.makefile("rb"))[0] == 200
                releasing.sendall(b"x")
            asyncio.run(http3(server, stopping))
            assert read_until_closed(first).endswith(b"first;\r\n4\r\nlast\r\n0\r\n\r\n")
            assert client.wait(stream).body == b"first;last"
            server.line("stopped")
            # The port may be another's by now, who does not have the certificate.
            with contextlib.suppress(ConnectionRefusedError, ssl.SSLError):
                context.wrap_socket(connect(server), server_hostname="localhost")
                raise AssertionError("still listens")


@case
def a_stop_cuts_what_does_not_end(start):
    for seconds in (0, 0.3):
        with start() as server, connect(server) as raw, Http2(server.port) as client:
            raw.sendall(get("/drip"))
            client.request("GET", "/hang")
            server.line("held")
            server.line("held")
            begin = time.monotonic()
            server.tell(f"stop {seconds}")
            server.line("stopped")
            assert time.monotonic() - begin >= seconds
            assert not read_until_closed(raw).endswith(b"0\r\n\r\n")


@case
def what_cannot_be_bound_is_named(start):
    with start() as server:
        error = http_server.failure(start.program, port=server.port)
        assert f"127.0.0.1:{server.port}: address in use" in error, error
    error = http_server.failure(start.program, certificate="no/such.pem", key="no/such.key")
    assert "no/such.pem" in error, error
    error = http_server.failure(start.program, certificate=__file__, key=start.folder / "key.pem")
    assert __file__ in error, error
    error = http_server.failure(start.program, host="192.0.2.1")
    assert "192.0.2.1:0" in error, error
    if socket.has_ipv6 and pathlib.Path("/proc/net/if_inet6").exists():
        for host in ("::1", "[::1]"):
            with start(host=host) as server, socket.create_connection(("::1", server.port)) as raw:
                raw.sendall(get("/hello", "connection: close"))
                assert read_until_closed(raw).endswith(b"hello")


def main():
    program, *names = sys.argv[1:]
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        start = http_server.Starter(program, pathlib.Path(folder))
        for function in CASES:
            name = function.__name__
            if names and name not in names:
                continue
            begin = time.monotonic()
            try:
                function(start)
                passed += 1
                print(f"ok {name} {time.monotonic() - begin:.2f} s", flush=True)
            except Exception as error:  # whatever it is, the other cases still run
                failed += 1
                at = error.__traceback__
                while at.tb_next and at.tb_next.tb_frame.f_code.co_filename == __file__:
                    at = at.tb_next
                print(f"FAILED {name} line {at.tb_lineno}: {type(error).__name__} {error}", flush=True)
    print(passed, failed)
    sys.exit(failed > 0 or passed == 0)


if __name__ == "__main__":
    main()
