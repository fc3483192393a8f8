"""Running the service: configuration, loading, ending, several models, metrics, logs."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import unittest

import httpx

from harness import (ENDLESS_SCHEMA, GUARD_SECONDS, NEVER, PROGRAM, TOOL_TEMPLATE, Server,
                     client_of, model, parse_events, user)
from wire import NARROW, OwnServerCase, WireCase, chat_body, head_of

CHAT = "/v1/chat/completions"
SLOW_LOADS = 8  # of one model after the other, so that loading takes a while
DRAIN_FOREVER = ("--drain-timeout", NEVER, *NARROW)
COUNTED = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[^}]*\})? (\S+)')


def run(*options, environment=None):
    return subprocess.run([PROGRAM, "serve", *options], capture_output=True, text=True,
                          timeout=GUARD_SECONDS, env={**os.environ, **(environment or {})})


def file_of(text):
    file = tempfile.NamedTemporaryFile("w", suffix=".yaml", delete=False)
    file.write(text)
    file.close()
    return file.name


class ConfigTest(unittest.TestCase):
    def config(self, text):
        path = file_of(text)
        self.addCleanup(os.unlink, path)
        return path

    def refused(self, *options, code=2, words=()):
        done = run(*options)
        self.assertEqual(done.returncode, code, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_a_file_is_checked_by_line(self):
        for text, words in (("port: 1\nprot: 2\n", (":2:", "prot", "port")),
                            ("threads: many\n", (":1:", "threads")),
                            ("\n\nport: 70000\n", (":3:", "port", "65535")),
                            ("port: 1\nport: 2\n", (":2:", "twice")),
                            ("models: a=b\n", (":1:", "list")), ("- a\n", ("map",)),
                            ("port: [\n", ("YAML",)), ("max-body-bytes: -1\n", (":1:",)),
                            ("models: [a]\n", ("NAME=PATH",)), ("no-http3: perhaps\n", (":1:",)),
                            ("port: '80'\n", (":1:", "number")),
                            ("port: 1\n---\nport: 2\n", ("second document",))):
            with self.subTest(text=text):
                path = self.config(text)
                self.refused("--config", path, "--check-config",
                             words=words if "NAME=PATH" in words else (path, *words))
        missing = "/no/such/file.yaml"
        self.refused("--config", missing, "--check-config", words=(missing,))
        for text in ("", "# nothing\n", "port: 1\n", "models: [a=b, c=d]\n",
                     "model: x\nthreads: 0\n"):
            done = run("--config", self.config(text), "--check-config")
            self.assertEqual((done.returncode, done.stderr), (0, ""), text)

    def test_what_can_be_known_before_a_run_is_checked(self):
        for options, word in ((("--header-timeout", "0"), "--header-timeout"),
                              (("--idle-timeout", "0"), "--idle-timeout"),
                              (("--write-timeout", "nan"), "--write-timeout"),
                              (("--request-timeout", "0"), "--request-timeout"),
                              (("--port", "65536"), "65535"),
                              (("--api-key-file", "/no/such/keys"), "/no/such/keys"),
                              (("--chat-template-file", "/no/such/jinja"), "/no/such/jinja"),
                              (("--tls-certificate", "/no/such/pem", "--tls-key", "/no/such/pem"),
                               "/no/such/pem"),
                              (("--cors-origin", "*"), "--cors-origin"),
                              (("--cors-origin", "https://a/"), "--cors-origin"),
                              (("--cors-origin", "https://a/b"), "--cors-origin"),
                              (("--cors-origin", "https://*.a"), "--cors-origin"),
                              (("--cors-origin", "https://A"), "--cors-origin"),
                              (("--cors-origin", "https://a:443"), "--cors-origin"),
                              (("--cors-origin", "https://a, https://b"), "--cors-origin"),
                              (("--allowed-hosts", "a:80"), "--allowed-hosts"),
                              (("--allowed-hosts", "https://a"), "--allowed-hosts"),
                              (("--allowed-hosts", "*.a"), "--allowed-hosts"),
                              (("--max-priority", "-1"), "--max-priority"),
                              (("--max-priority", "2147483648"), "--max-priority"),
                              (("--models", "a=b", "--models", "a=c"), "two models")):
            with self.subTest(options=options):
                self.refused(*options, "--check-config", words=(word,))
        done = run("--check-config", environment={"ZLLM_API_KEY": "two words"})
        self.assertEqual(done.returncode, 2)
        self.assertIn("ZLLM_API_KEY", done.stderr)
        self.assertNotIn("two words", done.stderr)
        self.assertEqual(run("--check-config", "--cors-origin", "http://localhost:3000").returncode,
                         0)

    def test_the_effective_configuration_is_one(self):
        path = self.config("port: 1234\nmodels: [a=/x, 'b=/y z']\nthreads: 3\nno-http3: true\n"
                           "cors-origin: ['https://a.example']\nheader-timeout: 2.5\n"
                           "host: \"::1\"\nmodel-name: 'a \"b\" : c'\n"
                           "allowed-hosts: [a.example, '*']\nmax-priority: 7\n")
        first = run("--config", path, "--print-effective-config", "--threads", "2")
        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertIn("threads: 2", first.stdout)
        self.assertIn("port: 1234", first.stdout)
        self.assertIn('allowed-hosts: ["a.example", "*"]', first.stdout)
        self.assertIn("max-priority: 7", first.stdout)
        second = run("--config", self.config(first.stdout), "--print-effective-config")
        self.assertEqual(second.stdout, first.stdout)
        help_text = run("--help").stdout
        for line in first.stdout.splitlines():
            self.assertIn("--" + line.split(":")[0], help_text)

    def test_keys_are_printed_nowhere(self):
        done = run("--print-effective-config", environment={"ZLLM_API_KEY": "sk-hidden-key"})
        self.assertEqual(done.returncode, 0)
        self.assertNotIn("sk-hidden-key", done.stdout + done.stderr)

    def test_files_and_keys_that_are_none_end_the_program(self):
        empty = self.config("# no key\n\n")
        spaced = self.config("a key with spaces\n")
        junk = self.config("GGUF is not here")
        for options, environment, word in (
                (("--model", "/no/such/model.gguf"), {}, "/no/such/model.gguf"),
                (("--model", junk), {}, junk),
                (("--models", f"a={junk}"), {}, junk),
                (("--model", model(), "--api-key-file", empty), {}, empty),
                (("--model", model(), "--api-key-file", spaced), {}, "key"),
                (("--model", model()), {"ZLLM_API_KEY": "two words"}, "key"),
                (("--model", model(), "--host", "203.0.113.1"), {}, "203.0.113.1"),
                (("--model", model(), "--backend", "abacus"), {}, "abacus"),
                (("--model", model(), "--output-family", "nobody"), {}, "nobody")):
            with self.subTest(options=options):
                done = run("--port", "0", *options, environment=environment)
                self.assertIn(done.returncode, (1, 2), done.stderr)
                self.assertIn(word, done.stderr)

    def test_a_port_in_use_is_named(self):
        with socket.socket() as held:
            held.bind(("127.0.0.1", 0))
            held.listen()
            port = held.getsockname()[1]
            done = run("--model", model(), "--port", str(port))
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"127.0.0.1:{port}", done.stderr)
        self.assertIn("in use", done.stderr)


class LifeTest(OwnServerCase):
    """Each test has a server of its own, which it ends."""

    def start(self, *options, **more):
        self.server = Server("--threads", "1", *options, **more)
        self.addCleanup(self.server.kill)
        self.http = client_of(self.server)
        self.addCleanup(self.http.close)
        return self.server

    def wait_until_it_drains(self):
        self.wait_for(lambda: any(r.get("event") == "draining" for r in self.server.records()))

    def rest(self, wire):
        data = b""
        while piece := wire.chunk():
            data += piece
        return data

    def slow_loading(self):
        names = [f"{name}={model()}" for name in "abcdefgh"[:SLOW_LOADS]]
        return self.start(*(word for name in names for word in ("--models", name)), wait=False)

    def test_answers_end_after_a_signal_and_nothing_new_begins(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            self.start(*DRAIN_FOREVER)
            wire = self.stalled(max_tokens=150)
            idle = self.wire()
            idle.send(head_of("GET", "/health"))
            self.assertEqual(idle.answer().status, 200)
            self.server.process.send_signal(number)
            self.wait_until_it_drains()
            # Over new connections too.
            for method, path, status in (("POST", CHAT, 503), ("GET", "/ready", 503),
                                         ("GET", "/health", 200), ("GET", "/metrics", 200)):
                with client_of(self.server) as http:
                    reply = http.request(method, path, content=chat_body())
                self.assertEqual(reply.status_code, status, path)
                self.assertEqual("retry-after" in reply.headers, status == 503)
            self.assertTrue(self.rest(wire).endswith(b"data: [DONE]\n\n"))
            self.assertTrue(idle.is_closed())
            self.assertEqual(self.server.process.wait(GUARD_SECONDS), 0)

    def test_an_idle_server_ends_at_once(self):
        self.start("--header-timeout", NEVER, "--idle-timeout", NEVER, *DRAIN_FOREVER)
        kept = self.wire()
        kept.send(head_of("GET", "/health"))
        kept.answer()
        held = self.wire()
        held.send(b"GET / HT")
        self.assertEqual(self.server.stop(), 0)

    def test_what_does_not_end_is_cut(self):
        self.start("--drain-timeout", "0.2", *NARROW)
        wire = self.stalled()
        self.assertEqual(self.server.stop(), 0)
        with self.assertRaises((ValueError, ConnectionError)):
            self.rest(wire)

    def test_a_second_signal_ends_at_once(self):
        for first, second in ((signal.SIGTERM, signal.SIGTERM), (signal.SIGINT, signal.SIGINT)):
            self.start(*DRAIN_FOREVER)
            self.stalled()
            self.server.process.send_signal(first)
            self.wait_until_it_drains()
            self.server.process.send_signal(second)
            self.assertEqual(self.server.process.wait(GUARD_SECONDS), 128 + second)

    def asked_while_loading(self):
        """Replies while the last model was not loaded yet, by what they must be; None: it was."""
        replies = [(503, self.http.get(path)) for path in ("/health", "/ready")]
        for path, body in ((CHAT, {"messages": [user("Hi")], "max_tokens": 1}),
                           ("/v1/completions", {"prompt": "a", "max_tokens": 1}),
                           ("/v1/responses", {"input": "a", "max_output_tokens": 16}),
                           ("/tokenize", {"content": "a"}),
                           ("/v1/messages", {"messages": [user("Hi")], "max_tokens": 1})):
            body["model"] = "abcdefgh"[SLOW_LOADS - 1]
            replies.append((503, self.http.post(path, json=body)))
        replies += [(404, self.http.post(CHAT, json={"model": "zz", "messages": []})),
                    (400, self.http.post(CHAT, content="{")), (200, self.http.get("/metrics")),
                    (404, self.http.get("/nothing"))]
        return replies if self.http.get("/health").status_code == 503 else None

    def test_while_loading_the_server_says_so(self):
        for _ in range(20):
            self.slow_loading()
            replies = self.asked_while_loading()
            if replies is not None:
                break
            self.server.kill()
        self.assertIsNotNone(replies, "loading is too quick to be seen")
        for status, reply in replies:
            self.assertEqual(reply.status_code, status, reply.text)
            if status == 503:
                self.assertGreaterEqual(int(reply.headers["retry-after"]), 1)
            if reply.url.path == "/v1/messages":
                self.assertEqual(reply.json()["type"], "error")
        self.assertEqual(self.server.stop(), 0)

    def test_loading_that_is_interrupted_ends_with_0(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            self.slow_loading()
            self.assertEqual(self.server.stop(number), 0)

    def test_a_model_that_fails_ends_the_others_too(self):
        path = file_of("GGUF")
        self.addCleanup(os.unlink, path)
        done = run("--port", "0", "--models", f"a={model()}", "--models", f"b={path}")
        self.assertEqual(done.returncode, 1)
        self.assertIn(path, done.stderr)

    def test_other_addresses(self):
        try:
            with socket.socket(socket.AF_INET6) as probe:
                probe.bind(("::1", 0))
        except OSError:
            self.skipTest("this machine has no IPv6")
        for host in ("::1", "[::1]"):
            self.start("--host", host, "--model-name", f"at {host}")
            self.assertIn(f"at {host}", self.http.get("/v1/models").text)
            # This port of the other address may be another server's.
            with contextlib.suppress(httpx.TransportError):
                other = self.http.get(f"http://127.0.0.1:{self.server.port}/v1/models")
                self.assertNotIn(f"at {host}", other.text)
            self.server.stop()
        self.start("--host", "0.0.0.0")
        self.assertTrue(any(r.get("event") == "open" for r in self.server.records()))
        # Who serves others is known by names that the server cannot know.
        url = f"http://127.0.0.1:{self.server.port}/v1/models"
        self.assertEqual(httpx.get(url, headers={"host": "any.example"}).status_code, 200)

    def test_several_models_answer_by_name(self):
        self.start("--models", f"small={model()}", "--models", f"org/other:q4={model()}")
        listed = self.http.get("/v1/models").json()
        self.assertEqual([entry["id"] for entry in listed["data"]], ["small", "org/other:q4"])
        for name in ("small", "org/other:q4"):
            body = json.loads(chat_body(model=name))
            reply = self.http.post(CHAT, json=body)
            self.assertEqual((reply.status_code, reply.json()["model"]), (200, name))
        for path in ("org/other:q4", "org%2Fother%3Aq4"):
            self.assertEqual(self.http.get(f"/v1/models/{path}").json()["id"], "org/other:q4")
        for path, body in ((CHAT, {"messages": [user("Hi")]}), ("/v1/completions", {"prompt": "a"}),
                           ("/v1/responses", {"input": "a"}), ("/tokenize", {"content": "a"}),
                           ("/v1/messages", {"messages": [user("Hi")], "max_tokens": 1})):
            for name in ("nobody", "Small2", "organization"):
                reply = self.http.post(path, json={"model": name, **body})
                self.assertEqual(reply.status_code, 404, reply.text)
                self.assertIn(name, reply.json()["error"]["message"])
            # Which one is not to be guessed.
            self.assertIn(self.http.post(path, json=body).status_code, (400, 404))
        self.assertEqual(self.http.get("/v1/models/nobody").status_code, 404)
        self.assertEqual(self.http.get("/ready").status_code, 200)
        text = self.http.get("/metrics").text
        for name in ("small", "org/other:q4"):
            self.assertIn(f'zllm_running_requests{{model="{name}"}} 0', text)

    def test_time_limits_have_504_or_end_the_stream(self):
        self.start("--request-timeout", "1", "--chat-template-file", str(TOOL_TEMPLATE))
        # Each would take minutes.
        endless = {"max_tokens": 7000, "ignore_eos": True, "n": 64}
        message = {"model": "x", "max_tokens": 7000, "messages": [user("Hi")],
                   "tools": [{"name": "count", "input_schema": ENDLESS_SCHEMA}],
                   "tool_choice": {"type": "tool", "name": "count"}}
        response = {"input": "Hi", "max_output_tokens": 7000, "text": {"format": {
            "type": "json_schema", "name": "count", "schema": ENDLESS_SCHEMA, "strict": True}}}
        for path, body in ((CHAT, {"messages": [user("Hi")], **endless}), ("/v1/messages", message),
                           ("/v1/completions", {"prompt": "a", **endless})):
            reply = self.http.post(path, json=body)
            self.assertEqual(reply.status_code, 504, reply.text)
            self.assertTrue(reply.json()["error"]["message"])
            self.assertEqual(reply.json().get("type"),
                             "error" if path == "/v1/messages" else None)

        def last_event(path, body):
            # Time may be over before there is anything to stream. What was computed of the prompt
            # is kept, so that there is in the end.
            def is_streamed():
                nonlocal reply
                reply = self.http.post(path, json={**body, "stream": True})
                return reply.status_code != 504

            reply = None
            self.wait_for(is_streamed)
            self.assertEqual(reply.status_code, 200)
            return [event for event in parse_events(reply.text) if event[1] != "[DONE]"][-1]

        _, last = last_event(CHAT, {"messages": [user("Hi")], **endless})
        self.assertTrue(last["error"]["message"])
        name, last = last_event("/v1/messages", message)
        self.assertEqual((name, last["type"]), ("error", "error"))
        self.assertTrue(last["error"]["message"])
        name, last = last_event("/v1/responses", response)
        self.assertEqual(name, "response.failed")
        self.assertTrue(last["response"]["error"]["message"])
        self.wait_until_idle()


class MetricsTest(WireCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--threads", "1", "--no-prefix-cache")
        cls.http = client_of(cls.server)
        cls.model = cls.http.get("/v1/models").json()["data"][0]["id"]

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.server.kill()

    def metrics(self):
        """Every sample by name and labels; the text must be in Prometheus' format."""
        reply = self.http.get("/metrics")
        self.assertTrue(reply.headers["content-type"].startswith("text/plain; version=0.0.4"))
        self.assertTrue(reply.text.endswith("\n"))
        samples, types = {}, {}
        for line in reply.text.splitlines():
            if line.startswith("# HELP "):
                continue
            if line.startswith("# TYPE "):
                _, _, name, kind = line.split()
                self.assertNotIn(name, types)
                types[name] = kind
                continue
            found = COUNTED.fullmatch(line)
            self.assertIsNotNone(found, line)
            name, labels, value = found[1], found[2] or "", float(found[3])
            base = re.sub(r"_(bucket|sum|count)$", "", name)
            kind = types.get(name) or types[base]
            if kind == "counter":
                self.assertTrue(name.endswith("_total"), name)
            self.assertNotIn((name, labels), samples)
            samples[name, labels] = value
        for name, kind in types.items():
            if kind == "histogram":
                buckets = [value for (sample, _), value in samples.items()
                           if sample == name + "_bucket"]
                self.assertEqual(buckets, sorted(buckets), name)
                self.assertEqual(buckets[-1], samples[name + "_count", ""], name)
                self.assertIn((name + "_bucket", '{le="+Inf"}'), samples)
        return samples

    def test_counts_are_those_of_the_traffic(self):
        before = self.metrics()
        answers = [self.http.post(CHAT, content=chat_body(max_tokens=5, ignore_eos=True)).json()
                   for _ in range(3)]
        self.http.post(CHAT, content=chat_body(max_tokens=5, ignore_eos=True, stream=True))
        self.http.post(CHAT, content="{")
        self.http.get("/nothing")
        after = self.metrics()

        def grown(name, labels=""):
            return after[name, labels] - before.get((name, labels), 0)

        prompt = answers[0]["usage"]["prompt_tokens"]
        self.assertEqual(grown("zllm_requests_total", f'{{route="{CHAT}",status="200"}}'), 4)
        self.assertEqual(grown("zllm_requests_total", f'{{route="{CHAT}",status="400"}}'), 1)
        self.assertEqual(grown("zllm_prompt_tokens_total"), 4 * prompt)
        self.assertEqual(grown("zllm_completion_tokens_total"), 20)
        self.assertEqual(grown("zllm_time_to_first_token_seconds_count"), 4)
        self.assertEqual(grown("zllm_queue_seconds_count"), 4)
        self.assertGreater(grown("zllm_inter_token_seconds_count"), 0)
        self.assertGreaterEqual(grown("zllm_request_failures_total", '{kind="invalid"}'), 1)
        label = f'{{model="{self.model}"}}'
        self.assertGreaterEqual(grown("zllm_generated_tokens_total", label), 20)
        self.assertEqual(after["zllm_running_requests", label], 0)

    def test_every_line_of_the_log_is_json_with_the_answers_id(self):
        ids = {}
        for method, path, body in (("POST", CHAT, chat_body()), ("POST", CHAT, "{"),
                                   ("POST", CHAT, chat_body(stream=True)),
                                   ("GET", "/nothing", None),
                                   ("GET", "/he\"alth\\", None), ("GET", "/%0a{}", None),
                                   ("POST", "/v1/messages", "{}")):
            reply = self.http.request(method, path, content=body)
            ids[reply.headers["x-request-id"]] = (method, reply.status_code)
        self.wait_for(lambda: set(ids) <= {r.get("request_id") for r in self.server.records()})
        records = [json.loads(line) for line in list(self.server.log)]
        for record in records:
            self.assertRegex(record["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
            self.assertIn(record["level"], ("info", "warning", "error"))
            if record.get("request_id") in ids:
                self.assertEqual((record["method"], record["status"]), ids[record["request_id"]])
                self.assertGreaterEqual(record["total_ms"], 0)
        logged = [record["request_id"] for record in records if record["event"] == "request"]
        self.assertEqual(len(logged), len(set(logged)))

    def test_ready_means_that_a_token_can_be_made(self):
        for _ in range(2):
            self.assertEqual(self.http.get("/ready").status_code, 200)
            self.assertEqual(self.http.get("/health").json(), {"status": "ok"})
            self.http.post(CHAT, content=chat_body())


if __name__ == "__main__":
    unittest.main()
