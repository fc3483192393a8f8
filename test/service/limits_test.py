"""Limits of the service: sizes, times, connections, slow and silent clients."""

import json
import socket
import time
import unittest

import httpx

from harness import shared_server, user
from wire import WireCase, chat_body, endless_body, head_of, request_of

CHAT = "/v1/chat/completions"
MESSAGES = "/v1/messages"
BODY_LIMIT = 20000
HEADER_LIMIT = 3000
MOST_CONNECTIONS = 64
HELD = 20
SLOW_READERS = 12
ROOM_FOR_SLOW_READERS = 64 << 20


class LimitsTest(WireCase):
    @classmethod
    def setUpClass(cls):
        cls.server = shared_server(
            "--max-body-bytes", str(BODY_LIMIT), "--max-total-body-bytes", str(3 * BODY_LIMIT),
            "--max-header-bytes", str(HEADER_LIMIT),
            "--header-timeout", "1", "--body-timeout", "1", "--idle-timeout", "2",
            "--write-timeout", "2", "--max-buffer-bytes", "16384", "--queue-length", "4",
            "--max-concurrent", "16", "--max-connections", str(MOST_CONNECTIONS), "--threads", "1")
        cls.http = httpx.Client(base_url=cls.server.url, timeout=60)
        cls.model = cls.http.get("/v1/models").json()["data"][0]["id"]

    def tearDown(self):
        self.doCleanups()
        self.wait_until_idle()

    def quick(self):
        """A request of another client, which must be answered soon whatever goes on."""
        started = time.monotonic()
        reply = httpx.post(self.server.url + CHAT, content=chat_body(), timeout=20)
        self.assertEqual(reply.status_code, 200)
        self.assertLess(time.monotonic() - started, 10)

    # ---- sizes ----

    def test_a_body_over_the_limit_has_413_in_the_routes_shape(self):
        at_limit = chat_body()
        at_limit += " " * (BODY_LIMIT - len(at_limit))
        self.assertEqual(self.talk(request_of("POST", CHAT, at_limit)).status, 200)
        large = at_limit + " "
        size = len(large)
        chunked = (b"%x\r\n" % size) + large.encode() + b"\r\n0\r\n\r\n"
        for path in (CHAT, MESSAGES, "/v1/responses", "/tokenize", "/nothing"):
            for data in (request_of("POST", path, large),
                         head_of("POST", path, "Transfer-Encoding: chunked") + chunked,
                         head_of("POST", path, f"Content-Length: {10**15}")):
                with self.subTest(path=path):
                    answer = self.talk(data)
                    error = self.error_of(answer, 413)
                    self.assertIn(str(BODY_LIMIT), error["message"])
                    whole = json.loads(answer.body)
                    if path == MESSAGES:
                        self.assertEqual((whole["type"], error["type"]),
                                         ("error", "request_too_large"))
                        self.assertEqual(whole["request_id"], answer.headers["request-id"])
                    else:
                        self.assertEqual(error["type"], "invalid_request_error")

    def test_bodies_have_a_limit_together_and_429(self):
        def padded(body):
            return body + " " * (BODY_LIMIT - len(body))
        running = [self.wire() for _ in range(3)]
        for wire in running:
            wire.send(request_of("POST", CHAT, padded(endless_body())))
            self.assertEqual(wire.head().status, 200)
        for path in (CHAT, MESSAGES):
            answer = self.talk(request_of("POST", path, padded(chat_body())))
            error = self.error_of(answer, 429)
            self.assertEqual(error["type"], "rate_limit_error")
            self.assertIn(str(3 * BODY_LIMIT), error["message"])
            self.assertGreaterEqual(int(answer.headers["retry-after"]), 1)
        running[0].close()
        self.wait_for(lambda: self.talk(request_of("POST", CHAT, padded(chat_body()))).status == 200)
        for wire in running:
            wire.close()

    def test_a_body_is_not_asked_for_only_to_be_refused(self):
        answer = self.talk(head_of("POST", CHAT, "Expect: 100-continue",
                                   f"Content-Length: {BODY_LIMIT + 1}"))
        self.error_of(answer, 413)

    def test_headers_over_the_limit_have_431(self):
        for fields in ((f"X-A: {'a' * HEADER_LIMIT}",), [f"X-{i}: b" for i in range(400)],
                       [f"X-{i}:" for i in range(2000)], (f"X-A: {'a' * 10**6}",),
                       ("A" * 10**5 + ": b",)):
            self.error_of(self.talk(head_of("GET", "/health", *fields)), 431)

    def test_a_target_over_the_limit_has_414(self):
        for path in ("/" + "a" * 9000, "/health?" + "a" * 9000, "/" + "a" * 20000):
            self.error_of(self.talk(head_of("GET", path)), 414)

    # ---- times ----

    def test_a_body_that_does_not_come_has_408_in_the_routes_shape(self):
        wires = []
        for path in (CHAT, MESSAGES):
            wire = self.wire()
            wire.send(head_of("POST", path, "Content-Length: 100") + b"{")
            wires.append(wire)
        openai, anthropic = (wire.answer() for wire in wires)
        self.error_of(openai, 408)
        self.error_of(anthropic, 408)
        self.assertEqual(json.loads(anthropic.body)["type"], "error")
        self.assertTrue(wires[0].is_closed())

    def test_a_head_that_does_not_come_has_408(self):
        for begin in (b"G", b"GET /health HTTP/1.1\r\n", b"GET /health HTTP/1.1\r\nHost: a\r\nX: "):
            wire = self.wire(seconds=10)
            wire.send(begin)
            self.error_of(wire.answer(), 408)
            self.assertTrue(wire.is_closed())

    def test_a_head_that_trickles_in_is_not_waited_for(self):
        wire = self.wire(seconds=10)
        started = time.monotonic()
        wire.send(b"GET /health HTTP/1.1\r\nHost: a\r\nX: ")
        wire.socket.settimeout(0.1)
        answer = None
        while answer is None and time.monotonic() - started < 8:
            wire.send(b"a")
            try:
                answer = wire.socket.recv(1000)
            except TimeoutError:
                pass
        self.assertTrue(answer and answer.startswith(b"HTTP/1.1 408"), answer)
        self.assertLess(time.monotonic() - started, 6)

    def test_an_idle_connection_ends(self):
        silent, used = self.wire(seconds=10), self.wire(seconds=10)
        used.send(head_of("GET", "/health"))
        self.assertEqual(used.answer().status, 200)
        self.assertTrue(silent.is_closed())
        self.assertTrue(used.is_closed())

    # ---- many ----

    def test_held_connections_and_slow_streams_stall_nobody(self):
        for index in range(HELD):
            wire = self.wire()
            wire.send((b"", b"P", b"POST /v1/chat/completions HTTP/1.1\r\n",
                       head_of("POST", CHAT, "Content-Length: 500") + b"{")[index % 4])
        slow = [self.wire() for _ in range(SLOW_READERS)]
        for wire in slow:
            wire.send(request_of("POST", CHAT, endless_body()))
        for wire in slow:
            self.assertEqual(wire.head().status, 200)
        for _ in range(3):
            self.quick()

    def test_connections_over_the_limit_are_refused_and_come_back(self):
        held = [self.wire() for _ in range(MOST_CONNECTIONS)]
        wire = self.wire(seconds=5)
        try:
            wire.send(head_of("GET", "/health"))
            answer = wire.answer()
            self.error_of(answer, 503)
            self.assertIn("retry-after", answer.headers)
        except ConnectionError:
            pass
        for one in held:
            one.close()
        self.wait_for(lambda: self.is_served())

    def is_served(self):
        try:
            return httpx.get(self.server.url + "/health").status_code == 200
        except httpx.TransportError:
            return False

    def test_a_queue_that_is_full_has_429_and_retry_after(self):
        running = [self.wire() for _ in range(16)]
        for wire in running:
            wire.send(request_of("POST", CHAT, endless_body()))
        for wire in running:
            wire.head()
        waiting = [self.wire() for _ in range(4)]
        for wire in waiting:
            wire.send(request_of("POST", CHAT, endless_body()))
        self.wait_for(lambda: self.gauge("zllm_queued_requests") == 4)
        for path, fields in ((CHAT, {}), ("/v1/responses", {}), (MESSAGES, {})):
            body = {"messages": [user("Hi")], "max_tokens": 2}
            if path == "/v1/responses":
                body = {"input": "Hi"}
            for more in ({}, {"stream": True}):
                reply = self.http.post(path, json={"model": self.model, **body, **fields, **more})
                self.assertEqual(reply.status_code, 429, reply.text)
                self.assertGreaterEqual(int(reply.headers["retry-after"]), 1)
                self.assertIn("rate_limit", json.dumps(reply.json()))
        # What does not need the model's turn is not refused.
        self.assertEqual(self.http.post("/tokenize", json={"content": "a"}).status_code, 200)

    # ---- clients that read nothing ----

    def silent_stream(self):
        """A client with a small window that never reads its stream."""
        raw = socket.socket()
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.connect(("127.0.0.1", self.server.port))
        self.addCleanup(raw.close)
        # Log-probabilities make the stream large.
        raw.sendall(request_of("POST", CHAT, chat_body(
            stream=True, max_tokens=7000, ignore_eos=True, logprobs=True, top_logprobs=20)))
        return raw

    def test_a_client_that_reads_nothing_is_cut_and_stalls_nobody(self):
        before = self.server.memory_bytes()
        silent = [self.silent_stream() for _ in range(3)]
        self.wait_for(lambda: self.gauge("zllm_running_requests") == len(silent))
        self.quick()
        # The answers are not computed on for nobody.
        self.wait_until_idle(30)
        self.assertLess(self.server.memory_bytes() - before, ROOM_FOR_SLOW_READERS)
        for raw in silent:
            raw.close()


if __name__ == "__main__":
    unittest.main()
