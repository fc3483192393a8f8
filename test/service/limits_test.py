"""Limits of the service: sizes, times, connections, slow and silent clients."""

import contextlib
import itertools
import json
import select
import unittest

import httpx

from harness import NEVER, Server, client_of, user, wait_for
from wire import (NARROW, Wire, WireCase, chat_body, endless_body, head_of, request_of,
                  stalled_body)

CHAT = "/v1/chat/completions"
MESSAGES = "/v1/messages"
BODY_LIMIT = 20000
HEADER_LIMIT = 3000
MOST_CONNECTIONS = 64
HELD = 20
SLOW_READERS = 3
QUEUE_LENGTH = 4


class LimitsCase(WireCase):
    """A server whose times are without end but for those of `options`."""

    options = ()

    @classmethod
    def setUpClass(cls):
        times = {f"--{name}-timeout": NEVER for name in ("header", "body", "idle", "write")}
        times.update(zip(cls.options[::2], cls.options[1::2]))
        cls.server = Server("--threads", "1", *itertools.chain(*times.items()))
        cls.http = client_of(cls.server)
        cls.model = cls.http.get("/v1/models").json()["data"][0]["id"]

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.server.kill()

    def tearDown(self):
        self.doCleanups()
        self.wait_until_idle()

    def quick(self):
        """A request of another client, which is answered whatever goes on."""
        with client_of(self.server) as http:
            self.assertEqual(http.post(CHAT, content=chat_body()).status_code, 200)


class SizesTest(LimitsCase):
    options = ("--max-body-bytes", str(BODY_LIMIT), "--max-total-body-bytes", str(3 * BODY_LIMIT),
               "--max-header-bytes", str(HEADER_LIMIT), "--max-connections", str(MOST_CONNECTIONS),
               *NARROW)

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
        running = [self.wire(is_narrow=True) for _ in range(3)]
        for wire in running:
            wire.send(request_of("POST", CHAT, padded(stalled_body())))
            self.assertEqual(wire.head().status, 200)
        for path in (CHAT, MESSAGES):
            answer = self.talk(request_of("POST", path, padded(chat_body())))
            error = self.error_of(answer, 429)
            self.assertEqual(error["type"], "rate_limit_error")
            self.assertIn(str(3 * BODY_LIMIT), error["message"])
            self.assertGreaterEqual(int(answer.headers["retry-after"]), 1)
        running[0].close()
        self.wait_for(lambda: self.talk(request_of("POST", CHAT, padded(chat_body()))).status == 200)

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

    # ---- many ----

    def test_held_connections_and_slow_streams_stall_nobody(self):
        for index in range(HELD):
            wire = self.wire()
            wire.send((b"", b"P", b"POST /v1/chat/completions HTTP/1.1\r\n",
                       head_of("POST", CHAT, "Content-Length: 500") + b"{")[index % 4])
        for _ in range(SLOW_READERS):
            self.stalled()
        self.quick()
        # What nobody takes is not computed on.
        self.wait_for(lambda: self.gauge("zllm_paused_sequences") == SLOW_READERS)
        self.quick()

    def test_connections_over_the_limit_are_refused_and_come_back(self):
        held = [self.wire() for _ in range(MOST_CONNECTIONS)]
        wire = self.wire()
        with contextlib.suppress(ConnectionError):
            wire.send(head_of("GET", "/health"))
            answer = wire.answer()
            self.error_of(answer, 503)
            self.assertIn("retry-after", answer.headers)
        for one in held:
            one.close()
        self.wait_for(self.is_served)

    def is_served(self):
        try:
            return httpx.get(self.server.url + "/health").status_code == 200
        except httpx.TransportError:
            return False


class TimesTest(LimitsCase):
    options = ("--header-timeout", "0.5", "--body-timeout", "0.5")

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
            wire = self.wire()
            wire.send(begin)
            self.error_of(wire.answer(), 408)
            self.assertTrue(wire.is_closed())

    def test_a_head_that_trickles_in_is_not_waited_for(self):
        wire = self.wire()
        wire.send(b"GET /health HTTP/1.1\r\nHost: a\r\nX: ")

        def is_answered():
            wire.send(b"a")
            return select.select([wire.socket], [], [], 0)[0]

        self.wait_for(is_answered)
        self.error_of(wire.answer(), 408)


class IdleTest(unittest.TestCase):
    def test_an_idle_connection_ends(self):
        server = Server("--threads", "1", "--idle-timeout", "0.5")
        self.addCleanup(server.kill)
        with Wire(server.port) as silent:
            self.assertTrue(silent.is_closed())
        # Who asks too late is not heard any more, and asks anew.
        wait_for(lambda: self.ends_after_an_answer(server.port))

    def ends_after_an_answer(self, port):
        with Wire(port) as wire:
            wire.send(head_of("GET", "/health"))
            try:
                self.assertEqual(wire.answer().status, 200)
            except ConnectionError:
                return False
            self.assertTrue(wire.is_closed())
            return True


class WriteTest(LimitsCase):
    options = ("--write-timeout", "1", "--max-buffer-bytes", "4096")

    def test_a_client_that_reads_nothing_is_cut_and_stalls_nobody(self):
        gone = 'zllm_request_failures_total{kind="client_gone"}'
        before = self.counted(gone)
        for _ in range(SLOW_READERS):
            self.stalled()
        self.quick()
        self.wait_for(lambda: self.counted(gone) == before + SLOW_READERS)
        self.wait_until_idle()


class QueueTest(LimitsCase):
    options = ("--max-concurrent", "1", "--queue-length", str(QUEUE_LENGTH))

    def test_a_queue_that_is_full_has_429_and_retry_after(self):
        running = self.wire()
        running.send(request_of("POST", CHAT, endless_body()))
        self.wait_for(lambda: self.gauge("zllm_running_requests") == 1)
        for _ in range(QUEUE_LENGTH):
            self.wire().send(request_of("POST", CHAT, endless_body()))
        self.wait_for(lambda: self.gauge("zllm_queued_requests") == QUEUE_LENGTH)
        for path, body in ((CHAT, {"messages": [user("Hi")], "max_tokens": 2}),
                           ("/v1/responses", {"input": "Hi"}),
                           (MESSAGES, {"messages": [user("Hi")], "max_tokens": 2})):
            for more in ({}, {"stream": True}):
                reply = self.http.post(path, json={"model": self.model, **body, **more})
                self.assertEqual(reply.status_code, 429, reply.text)
                self.assertGreaterEqual(int(reply.headers["retry-after"]), 1)
                self.assertIn("rate_limit", json.dumps(reply.json()))
        # What does not need the model's turn is not refused.
        self.assertEqual(self.http.post("/tokenize", json={"content": "a"}).status_code, 200)


if __name__ == "__main__":
    unittest.main()
