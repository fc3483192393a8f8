"""HTTP/1.1 of the service: framing, routing, limits, clients that misbehave."""

import json
import unittest

from harness import Server, client_of
from wire import NARROW, WireCase, chat_body, endless_body, head_of, request_of

CHAT = "/v1/chat/completions"
MESSAGES = "/v1/messages"


class HttpTest(WireCase):
    # ---- routing ----

    def test_unknown_routes_have_a_json_404(self):
        for path in ("/", "/v1", "/v1/", "/v2/models", "/favicon.ico", "/v1/chat", "/v1/embeddings",
                     "/v1/chat/completions/", "//v1/models", "/V1/models", "/v1/models/",
                     "/v1/chat/completions/x", "/../etc/passwd", "/v1/../health",
                     "/v1/models/../../health", "/%2e%2e/%2e%2e/etc/passwd", "/.", "/..;/health",
                     "/health%00", "/health/", "/%", "/%zz", "/a\\b", "/" + "a/" * 2000, "*"):
            with self.subTest(path=path[:40]):
                self.error_of(self.talk(head_of("GET", path)), 404)

    def test_the_path_of_a_message_has_its_errors_shape(self):
        body = json.loads(self.talk(head_of("GET", "/v1/messages/nothing")).body)
        self.assertEqual(body["type"], "error")
        self.assertEqual(body["error"]["type"], "not_found_error")

    def test_other_methods_have_405_and_allow(self):
        for method, path, allowed in (("GET", CHAT, {"POST"}), ("PUT", CHAT, {"POST"}),
                                      ("DELETE", "/v1/models", {"GET", "HEAD"}),
                                      ("POST", "/health", {"GET", "HEAD"}),
                                      ("PATCH", "/v1/responses/resp_1", {"GET", "HEAD", "DELETE"}),
                                      ("TRACE", "/metrics", {"GET", "HEAD"}),
                                      ("BREW", "/tokenize", {"POST"}),
                                      ("HEAD", CHAT, {"POST"}),
                                      ("get", "/health", {"GET", "HEAD"})):
            with self.subTest(method=method, path=path):
                answer = self.talk(head_of(method, path), method)
                self.assertEqual(answer.status, 405)
                self.assertEqual({name.strip() for name in answer.headers["allow"].split(",")},
                                 allowed)
                if method != "HEAD":
                    self.error_of(answer, 405)

    def test_head_is_get_without_a_body(self):
        wire = self.wire()
        for path in ("/health", "/v1/models", "/metrics", "/ready"):
            wire.send(head_of("HEAD", path))
            head = wire.answer("HEAD")
            wire.send(head_of("GET", path))
            whole = wire.answer()
            self.assertEqual((head.status, whole.status), (200, 200))
            self.assertEqual(head.headers["content-type"], whole.headers["content-type"])
            if path != "/metrics":  # whose numbers change
                self.assertEqual(int(head.headers["content-length"]), len(whole.body))

    def test_long_targets_have_414(self):
        for size in (9000, 64000, 70000):
            self.assertEqual(self.talk(head_of("GET", "/" + "a" * size)).status, 414)

    def test_a_query_changes_no_route(self):
        for path in ("/health?", "/health?a=b", "/health?%zz&&=&a", "/v1/models?limit=2"):
            self.assertEqual(self.talk(head_of("GET", path)).status, 200)

    def test_escaped_letters_of_a_path_are_the_letters(self):
        self.assertEqual(self.talk(head_of("GET", "/he%61lth")).status, 200)
        self.assertEqual(self.talk(head_of("GET", "/v1/m%6Fdels")).status, 200)
        # An escaped slash separates nothing.
        self.error_of(self.talk(head_of("GET", "/v1%2Fmodels")), 404)
        name = "".join(f"%{ord(letter):02x}" for letter in self.model)
        self.assertEqual(json.loads(self.talk(head_of("GET", f"/v1/models/{name}")).body)["id"],
                         self.model)

    def test_the_target_may_be_absolute(self):
        answer = self.talk(head_of("GET", f"http://127.0.0.1:{self.server.port}/health"))
        self.assertEqual(answer.status, 200)

    # ---- framing ----

    def test_answers_to_pipelined_requests_come_in_order(self):
        wire = self.wire()
        body = json.dumps({"content": "abc"})
        wire.send(request_of("POST", "/tokenize", body) + head_of("GET", "/nothing")
                  + head_of("GET", "/health") + request_of("POST", CHAT, chat_body())
                  + head_of("GET", "/v1/models"))
        self.assertIn("tokens", json.loads(wire.answer().body))
        self.assertEqual(wire.answer().status, 404)
        self.assertEqual(json.loads(wire.answer().body), {"status": "ok"})
        self.assertIn("choices", json.loads(wire.answer().body))
        self.assertEqual(json.loads(wire.answer().body)["object"], "list")

    def test_a_connection_outlives_errors(self):
        wire = self.wire()
        for body in ("{", "[]", "", "null", '{"model": 1}', '{"messages": []}', '"\\ud800"', "nul"):
            wire.send(request_of("POST", CHAT, body))
            self.error_of(wire.answer(), 400)
        wire.send(head_of("GET", "/health"))
        self.assertEqual(wire.answer().status, 200)

    def test_a_stream_leaves_the_connection_open(self):
        wire = self.wire()
        for _ in range(2):
            wire.send(request_of("POST", CHAT, chat_body(stream=True)))
            self.assertTrue(wire.answer().body.endswith(b"data: [DONE]\n\n"))

    def test_connection_close_is_obeyed(self):
        wire = self.wire()
        wire.send(head_of("GET", "/health", "Connection: close"))
        answer = wire.answer()
        self.assertEqual((answer.status, answer.headers["connection"]), (200, "close"))
        self.assertTrue(wire.is_closed())

    def test_http_1_0(self):
        wire = self.wire()
        wire.send(head_of("GET", "/health", version="HTTP/1.0", host=None))
        self.assertEqual(wire.answer().status, 200)
        self.assertTrue(wire.is_closed())
        # A stream's end is the connection's.
        wire = self.wire()
        wire.send(request_of("POST", CHAT, chat_body(stream=True), version="HTTP/1.0", host=None))
        answer = wire.answer()
        self.assertNotIn("transfer-encoding", answer.headers)
        self.assertTrue(answer.body.endswith(b"data: [DONE]\n\n"))

    def test_a_body_is_asked_for(self):
        wire = self.wire()
        body = chat_body().encode()
        wire.send(head_of("POST", CHAT, "Expect: 100-continue", f"Content-Length: {len(body)}"))
        self.assertEqual(wire.answer().status, 100)
        wire.send(body)
        self.assertEqual(wire.answer().status, 200)

    def test_bodies_in_chunks(self):
        body = chat_body().encode()
        for sizes in ((len(body),), (1,) * len(body), (7, len(body) - 7)):
            data, start = b"", 0
            for size in sizes:
                data += b"%x;x=y\r\n%s\r\n" % (size, body[start:start + size])
                start += size
            answer = self.talk(head_of("POST", CHAT, "Transfer-Encoding: chunked")
                               + data + b"0\r\nTrailer: x\r\n\r\n")
            self.assertEqual(answer.status, 200, answer.body)

    def test_ambiguous_framing_is_refused_and_the_connection_ends(self):
        smuggled = head_of("GET", "/metrics")
        for fields in (("Transfer-Encoding: chunked", "Content-Length: 5"),
                       ("Content-Length: 5", "Content-Length: 6"), ("Content-Length: 5, 6",),
                       ("Content-Length: -1",), ("Content-Length: +5",), ("Content-Length: 0x5",),
                       ("Content-Length: 99999999999999999999999",), ("Content-Length: ",),
                       ("Transfer-Encoding: gzip",), ("Transfer-Encoding: chunked, identity",),
                       ("Transfer-Encoding : chunked",), ("Transfer-Encoding: xchunked",)):
            with self.subTest(fields=fields):
                wire = self.wire()
                wire.send(head_of("POST", "/tokenize", *fields) + b"0\r\n\r\n" + smuggled)
                answer = wire.answer()
                self.assertIn(answer.status, (400, 411, 413, 501))
                self.assertTrue(wire.is_closed())

    def test_broken_chunks_are_refused(self):
        for data in (b"x\r\n", b"-1\r\n", b"fffffffffffffffff\r\nab", b"2\r\nabc\r\n0\r\n\r\n",
                     b"2\nab\n0\n\n"):
            wire = self.wire()
            wire.send(head_of("POST", "/tokenize", "Transfer-Encoding: chunked") + data)
            self.assertEqual(wire.answer().status, 400, data)
            self.assertTrue(wire.is_closed())

    def test_what_is_not_http_is_refused(self):
        for data in (b"\r\n\r\n\r\nhello\r\n\r\n", b"GET\r\n\r\n", b"GET /health\r\n\r\n",
                     b"GET /health HTTP/9.9\r\n\r\n", b"GET /hea lth HTTP/1.1\r\nHost: a\r\n\r\n",
                     b"GET /health HTTP/1.1\r\n Host: a\r\n\r\n",
                     b"GET /health HTTP/1.1\r\nHost: a\r\nBad Name: b\r\n\r\n",
                     b"GET /health HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n",
                     b"GET /health HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n",
                     b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64) + b"\r\n\r\n",
                     b"G\xffT / HTTP/1.1\r\nHost: a\r\n\r\n", bytes(200) + b"\r\n\r\n"):
            with self.subTest(data=data[:30]):
                wire = self.wire()
                wire.send(data)
                self.error_of(wire.answer(), 400)
                self.assertTrue(wire.is_closed())

    def test_what_follows_an_answer_and_is_no_request_is_refused_after_it(self):
        for data, method in ((head_of("GET", "/health"), "GET"), (head_of("HEAD", "/health"), "HEAD"),
                             (request_of("POST", CHAT, chat_body(stream=True)), "POST")):
            wire = self.wire()
            wire.send(data + b"nonsense\r\n\r\n")
            self.assertEqual(wire.answer(method).status, 200)
            self.error_of(wire.answer(), 400)
            self.assertTrue(wire.is_closed())

    def test_one_host_must_be_named(self):
        self.error_of(self.talk(head_of("GET", "/health", host=None)), 400)
        self.error_of(self.talk(head_of("GET", "/health", "Host: other")), 400)
        for host in ("a b", "a/b", "http://a", "[::1", "me@a"):
            self.error_of(self.talk(head_of("GET", "/health", host=host)), 400)

    def test_compressed_bodies_are_refused(self):
        for encoding in ("gzip", "br", "zstd", "deflate", "gzip, identity"):
            answer = self.talk(request_of("POST", CHAT, b"\x1f\x8b\x08",
                                          f"Content-Encoding: {encoding}"))
            error = self.error_of(answer, 415)
            self.assertIn("content-encoding", error["message"].lower())
        answer = self.talk(request_of("POST", CHAT, chat_body(), "Content-Encoding: identity"))
        self.assertEqual(answer.status, 200)

    def test_the_type_of_a_body_is_not_asked_for(self):
        body = chat_body().encode()
        for kind in ("text/plain", "application/json; charset=utf-8", "application/x-ndjson"):
            data = head_of("POST", CHAT, f"Content-Length: {len(body)}", f"Content-Type: {kind}")
            self.assertEqual(self.talk(data + body).status, 200)

    def test_every_answer_has_an_id_of_its_own(self):
        ids = set()
        for data in (head_of("GET", "/health"), head_of("GET", "/nothing"),
                     head_of("GET", "/health"),
                     request_of("POST", CHAT, chat_body()), request_of("POST", CHAT, "{"),
                     request_of("POST", CHAT, chat_body(stream=True)),
                     request_of("POST", MESSAGES, "{}")):
            ids.add(self.talk(data).headers["x-request-id"])
        self.assertEqual(len(ids), 7)

    def test_a_request_keeps_the_id_that_it_came_with(self):
        for data in (head_of("GET", "/health", "X-Request-Id: from-proxy/1"),
                     request_of("POST", CHAT, "{", "X-Request-Id: from-proxy/1"),
                     request_of("POST", MESSAGES, "{}", "X-Request-Id: from-proxy/1")):
            self.assertEqual(self.talk(data).headers["x-request-id"], "from-proxy/1")
        for bad in ("", "two words", "a" * 129, "\xff"):
            answer = self.talk(head_of("GET", "/health", f"X-Request-Id: {bad}"))
            self.assertTrue(answer.headers["x-request-id"].startswith("req_"))

    def test_streams_are_not_to_be_cached(self):
        answer = self.talk(request_of("POST", CHAT, chat_body(stream=True)))
        self.assertEqual(answer.headers["cache-control"], "no-cache")
        self.assertTrue(answer.headers["content-type"].startswith("text/event-stream"))

    def test_names_in_other_scripts_break_nothing(self):
        for path in ("/v1/models/\xff\xfe", "/v1/models/%ff%00", "/v1/models/%F0%9F%98%80",
                     "/v1/responses/%ed%a0%80", "/v1/responses/" + "a" * 4000):
            answer = self.talk(head_of("GET", path))
            self.assertIn(answer.status, (400, 404), path)
            if answer.status == 404:
                self.error_of(answer, 404)

    def test_a_client_that_leaves_while_it_sends_breaks_nothing(self):
        for data in (b"POST", head_of("POST", CHAT, "Content-Length: 100"),
                     head_of("POST", CHAT, "Content-Length: 100") + b"{",
                     head_of("POST", CHAT, "Transfer-Encoding: chunked") + b"5\r\n{"):
            self.wire().send(data)
        self.assertEqual(self.http.get("/health").status_code, 200)


class LeavingTest(WireCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--threads", "1", "--no-request-log", *NARROW)
        cls.http = client_of(cls.server)

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.server.kill()

    def gone(self):
        return (self.counted('zllm_request_failures_total{kind="client_gone"}'),
                self.counted(f'zllm_requests_total{{route="{CHAT}",status="499"}}'))

    def check(self, wire, is_told):
        before, untold = self.gone()
        self.wait_for(lambda: self.gauge("zllm_running_requests") == 1)
        wire.close()
        self.wait_until_idle()
        self.wait_for(lambda: self.gone() == (before + 1, untold + (not is_told)))

    def test_a_client_that_leaves_its_stream_stops_it(self):
        self.check(self.stalled(), is_told=True)
        self.check(self.stalled(n=2), is_told=True)

    def test_a_client_that_leaves_before_it_is_told_stops_its_answer(self):
        wire = self.wire()
        wire.send(request_of("POST", CHAT, endless_body()))
        self.check(wire, is_told=False)


if __name__ == "__main__":
    unittest.main()
