"""TLS, HTTP/2 and HTTP/3 of the service: the same answers by every way."""

import asyncio
import json
import pathlib
import ssl
import subprocess
import sys
import tempfile
import unittest

import httpx

from harness import GUARD_SECONDS, PROGRAM, ROOT, Server, client_of, model, parse_events
from wire import NARROW, Wire, WireCase, chat_body, request_of, stalled_body

sys.path.insert(0, str(ROOT / "tools/check"))

from http2_client import Http2  # noqa: E402
from http3_client import connected  # noqa: E402
from http_server import write_certificate  # noqa: E402

CHAT = "/v1/chat/completions"
PARALLEL = 100
JSON_FIELD = (("content-type", "application/json"),)
# What differs between two equal answers.
VOLATILE = ("id", "created", "timings", "system_fingerprint")


def text_of(events):
    return "".join(choice["delta"].get("content") or ""
                   for _, data in events if isinstance(data, dict) for choice in data["choices"])


def settled(body):
    answer = json.loads(body)
    return {name: value for name, value in answer.items() if name not in (*VOLATILE, "usage")}


class Http2Test(WireCase):
    """Without TLS, by prior knowledge, on the port of HTTP/1.1."""

    def client(self):
        client = Http2(self.server.port)
        self.addCleanup(client.close)
        return client

    def test_answers_are_those_of_http1(self):
        body = chat_body(max_tokens=12)
        client = self.client()
        answer = client.wait(client.request("POST", CHAT, body.encode(), JSON_FIELD))
        self.assertEqual(answer.status, 200)
        self.assertEqual(settled(answer.body), settled(self.http.post(CHAT, content=body).text))
        streaming = chat_body(max_tokens=12, stream=True).encode()
        streamed = client.wait(client.request("POST", CHAT, streaming))
        self.assertTrue(streamed.body.endswith(b"data: [DONE]\n\n"))
        self.assertEqual(text_of(parse_events(streamed.body.decode())),
                         json.loads(answer.body)["choices"][0]["message"]["content"])
        for name in ("connection", "transfer-encoding", "keep-alive"):
            self.assertNotIn(name, streamed.headers)

    def test_errors_and_head(self):
        client = self.client()
        self.assertEqual(client.wait(client.request("POST", CHAT, b"{")).status, 400)
        self.assertEqual(client.wait(client.request("GET", "/nothing")).status, 404)
        self.assertEqual(client.wait(client.request("PUT", "/health")).status, 405)
        head = client.wait(client.request("HEAD", "/health"))
        self.assertEqual((head.status, head.body), (200, b""))
        self.assertIn("x-request-id", head.headers)

    def test_many_streams_share_a_connection(self):
        client = self.client()
        expected = json.loads(self.http.post(CHAT, content=chat_body()).text)["choices"]
        streams = [client.request("POST", CHAT, chat_body(stream=index % 2 == 1).encode())
                   for index in range(PARALLEL)]
        for index, stream in enumerate(streams):
            answer = client.wait(stream)
            self.assertEqual((answer.status, answer.is_reset), (200, False))
            if index % 2 == 1:
                self.assertEqual(text_of(parse_events(answer.body.decode())),
                                 expected[0]["message"]["content"])
            else:
                self.assertEqual(json.loads(answer.body)["choices"], expected)

    def test_a_stream_that_is_reset_stops_its_answer(self):
        client = self.client()
        stream = client.request("POST", CHAT, stalled_body().encode())
        self.wait_for(lambda: self.gauge("zllm_running_requests") > 0)
        client.reset(stream)
        self.wait_until_idle()
        self.assertEqual(client.wait(client.request("GET", "/health")).status, 200)

    def test_a_connection_that_ends_stops_its_answers(self):
        client = self.client()
        for _ in range(3):
            client.request("POST", CHAT, stalled_body().encode())
        self.wait_for(lambda: self.gauge("zllm_running_requests") == 3)
        client.close()
        self.wait_until_idle()

    def test_a_stream_that_is_not_read_stalls_only_itself(self):
        client = self.client()
        client.stop_reading()
        stuck = client.request("POST", CHAT, stalled_body().encode())
        self.wait_for(lambda: self.gauge("zllm_running_requests") > 0)
        self.assertEqual(client.wait(client.request("GET", "/health")).status, 200)
        short = client.wait(client.request("POST", CHAT, chat_body().encode()))
        self.assertEqual(short.status, 200)
        client.reset(stuck)
        self.wait_until_idle()


class TlsTest(WireCase):
    @classmethod
    def setUpClass(cls):
        cls.held = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.held.name)
        write_certificate(cls.folder)
        cls.server = Server("--tls-certificate", str(cls.folder / "certificate.pem"), "--tls-key",
                            str(cls.folder / "key.pem"), "--threads", "1", *NARROW)
        cls.server.folder = cls.folder
        cls.http = client_of(cls.server, verify=cls.context())
        cls.model = cls.http.get("/v1/models").json()["data"][0]["id"]

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.server.kill()
        cls.held.cleanup()

    @classmethod
    def context(cls, *protocols):
        context = ssl.create_default_context(cafile=cls.folder / "certificate.pem")
        if protocols:
            context.set_alpn_protocols(list(protocols))
        return context

    def test_http_1_and_2_are_negotiated(self):
        self.assertTrue(self.server.url.startswith("https://"))
        answers = []
        for has_2, version in ((False, "HTTP/1.1"), (True, "HTTP/2")):
            with client_of(self.server, http2=has_2, verify=self.context()) as client:
                reply = client.post(CHAT, content=chat_body(max_tokens=8))
                self.assertEqual((reply.status_code, reply.http_version), (200, version))
                self.assertIn(f'h3=":{self.server.port}"', reply.headers["alt-svc"])
                answers.append(settled(reply.text))
        self.assertEqual(*answers)

    def test_a_client_that_leaves_its_stream_ends_nothing_else(self):
        for _ in range(3):
            with Wire(self.server.port, is_narrow=True) as wire:
                wire.socket = self.context().wrap_socket(wire.socket, server_hostname="localhost")
                wire.file = wire.socket.makefile("rb")
                wire.send(request_of("POST", CHAT, stalled_body()))
                self.assertEqual(wire.head().status, 200)
                self.assertTrue(wire.chunk())
            self.wait_until_idle()

    def test_what_does_not_speak_tls_breaks_nothing(self):
        for data in (b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n",
                     b"\x16\x03\x01\xff\xff" + b"a" * 500,
                     b"\x80" * 100, b""):
            wire = self.wire()
            wire.send(data)
            wire.close()
        self.assertEqual(self.http.get("/health").status_code, 200)

    def test_old_versions_of_tls_are_refused(self):
        context = self.context()
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        with client_of(self.server, verify=context) as http:
            self.assertEqual(http.get("/health").status_code, 200)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
        with client_of(self.server, verify=context) as http:
            self.assertRaises(httpx.ConnectError, http.get, "/health")

    def http3(self, talk):
        async def run():
            async with connected(self.server) as client:
                return await asyncio.wait_for(talk(client), GUARD_SECONDS)

        return asyncio.run(run())

    def test_http3_answers_as_http1(self):
        body, streaming = chat_body(max_tokens=12), chat_body(max_tokens=12, stream=True)

        async def talk(client):
            whole = await client.fetch("POST", CHAT, body.encode(), JSON_FIELD)
            stream = await client.fetch("POST", CHAT, streaming.encode())
            refused = await client.fetch("POST", "/v1/messages", b"{}")
            # aioquic takes an answer to HEAD for a broken one when that tells its length.
            head = await client.fetch("HEAD", "/health")
            missing = await client.fetch("GET", "/nothing")
            return whole, stream, refused, head, missing

        whole, stream, refused, head, missing = self.http3(talk)
        self.assertEqual(whole.status, 200)
        self.assertEqual(settled(whole.body), settled(self.http.post(CHAT, content=body).text))
        self.assertTrue(stream.headers["content-type"].startswith("text/event-stream"))
        self.assertTrue(stream.body.endswith(b"data: [DONE]\n\n"))
        self.assertEqual(text_of(parse_events(stream.body.decode())),
                         json.loads(whole.body)["choices"][0]["message"]["content"])
        self.assertEqual((refused.status, json.loads(refused.body)["type"]), (400, "error"))
        self.assertEqual((head.status, head.body), (200, b""))
        self.assertEqual(missing.status, 404)

    def test_http3_streams_run_beside_each_other(self):
        async def talk(client):
            streams = [client.request("POST", CHAT, chat_body(stream=True).encode())
                       for _ in range(PARALLEL)]
            return [await client.wait(stream) for stream in streams]

        answers = self.http3(talk)
        self.assertEqual({answer.status for answer in answers}, {200})
        texts = {text_of(parse_events(answer.body.decode())) for answer in answers}
        self.assertEqual(len(texts), 1)

    def test_http3_clients_that_leave_stop_their_answers(self):
        async def runs(count):
            while (await asyncio.to_thread(self.gauge, "zllm_running_requests")) != count:
                await asyncio.sleep(0.01)

        async def talk(client):
            client.stop_reading()
            stream = client.request("POST", CHAT, stalled_body().encode())
            await runs(1)
            client.stop(stream)
            await runs(0)
            client.request("POST", CHAT, stalled_body().encode())
            await runs(1)

        self.http3(talk)
        self.wait_until_idle()


class CertificateTest(unittest.TestCase):
    def failure(self, certificate, key, *more):
        options = [*more, "--tls-certificate", str(certificate), "--tls-key", str(key)]
        done = subprocess.run([PROGRAM, "serve", "--port", "0", "--model", model(), *options],
                              capture_output=True, text=True, timeout=GUARD_SECONDS)
        self.assertNotEqual(done.returncode, 0)
        return done.stderr

    def test_files_that_are_none_are_named(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            write_certificate(folder)
            certificate, key = folder / "certificate.pem", folder / "key.pem"
            other = folder / "other"
            other.mkdir()
            write_certificate(other)
            empty = folder / "empty.pem"
            empty.write_text("")
            junk = folder / "junk.pem"
            junk.write_text("-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n")
            for first, second, wrong in (
                    (folder / "missing.pem", key, "missing.pem"),
                    (certificate, folder / "missing.pem", "missing.pem"),
                    (empty, key, "empty.pem"), (certificate, empty, "empty.pem"),
                    (junk, key, "junk.pem"), (folder, key, str(folder)),
                    (certificate, other / "key.pem", "key.pem"), (key, key, "key.pem"),
                    (certificate, certificate, "certificate.pem")):
                with self.subTest(certificate=first.name, key=second.name):
                    self.assertIn(wrong, self.failure(first, second))
                    self.assertIn(wrong, self.failure(first, second, "--check-config"))

    def test_both_files_are_needed(self):
        done = subprocess.run([PROGRAM, "serve", "--tls-key", "a"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--tls-certificate", done.stderr)


if __name__ == "__main__":
    unittest.main()
