"""Keys, hosts, origins, priorities, and bodies of every kind that a client can send."""

import asyncio
import json
import os
import pathlib
import random
import sys
import tempfile
import unittest

import httpx

from harness import (ROOT, TOOL_TEMPLATE, Server, client_of, shared_server, tool_server, user,
                     weather_tool)
from wire import WireCase, chat_body, head_of, request_of

sys.path.insert(0, str(ROOT / "tools/check"))

from http2_client import Http2  # noqa: E402
from http3_client import connected  # noqa: E402
from http_server import write_certificate  # noqa: E402

FIRST, SECOND, THIRD = "sk-first-0123456789", "sk-second#with+signs/=", "sk-of-the-environment"
ROUTES = (("POST", "/v1/chat/completions"), ("POST", "/v1/completions"), ("POST", "/v1/responses"),
          ("GET", "/v1/responses/resp_1"), ("DELETE", "/v1/responses/resp_1"),
          ("POST", "/v1/responses/resp_1/cancel"), ("GET", "/v1/responses/resp_1/input_items"),
          ("POST", "/v1/messages"), ("POST", "/v1/messages/count_tokens"), ("GET", "/v1/models"),
          ("GET", "/v1/models/x"), ("POST", "/tokenize"), ("POST", "/detokenize"),
          ("POST", "/apply-template"), ("GET", "/ready"), ("GET", "/metrics"))
METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE", "BREW")
MUTATIONS = 500
SEED = 20261130


def keys_file():
    with tempfile.NamedTemporaryFile("wb", suffix=".keys", delete=False) as file:
        file.write(f"# keys of the test\r\n{FIRST}\r\n\r\n{SECOND}  \n#{THIRD}x\n".encode())
    return file.name


class KeysTest(WireCase):
    @classmethod
    def setUpClass(cls):
        cls.file = keys_file()
        cls.server = Server("--api-key-file", cls.file, "--threads", "1",
                            environment={"ZLLM_API_KEY": THIRD})
        cls.http = client_of(cls.server)

    @classmethod
    def tearDownClass(cls):
        cls.server.kill()
        os.unlink(cls.file)
        super().tearDownClass()

    def test_no_route_but_health_is_open(self):
        self.assertEqual(self.http.get("/health").status_code, 200)
        self.assertEqual(self.http.head("/health").status_code, 200)
        unknown = [(method, path) for method in METHODS
                   for path in ("/", "/nothing", "/v1", "/docs", "/openapi.json", "/slots",
                                "/props", "/health/", "/health/x", "//health", "/%68ealth/..",
                                "/v1/messages/x")]
        others = [(method, path) for _, path in ROUTES for method in METHODS]
        not_get = [(method, "/health") for method in METHODS if method not in ("GET", "HEAD")]
        for method, path in {*ROUTES, *unknown, *others, *not_get}:
            with self.subTest(method=method, path=path):
                reply = self.http.request(method, path, content=b"{}" if method == "POST" else None)
                self.assertEqual(reply.status_code, 401)
                self.assertEqual(reply.headers["www-authenticate"], "Bearer")
                if method == "HEAD":
                    continue
                error = reply.json()["error"]
                if path.startswith("/v1/messages"):
                    self.assertEqual(reply.json()["type"], "error")
                    self.assertEqual(error["type"], "authentication_error")
                    self.assertEqual(set(error), {"type", "message"})
                else:
                    self.assertEqual(error["code"], "invalid_api_key")
                    self.assertEqual(set(error), {"message", "type", "param", "code"})

    def status(self, **headers):
        return self.http.get("/v1/models", headers={name.replace("_", "-"): value
                                                    for name, value in headers.items()}).status_code

    def test_every_key_opens_by_either_header(self):
        for key in (FIRST, SECOND, THIRD):
            self.assertEqual(self.status(authorization=f"Bearer {key}"), 200)
            self.assertEqual(self.status(authorization=f"bearer {key}"), 200)
            self.assertEqual(self.status(authorization=f"BEARER   {key}"), 200)
            self.assertEqual(self.status(x_api_key=key), 200)
            # A proxy's own credentials do not hide the key.
            self.assertEqual(self.status(authorization="Basic abc", x_api_key=key), 200)

    def test_nothing_else_opens(self):
        for value in (FIRST[:-1], FIRST + "x", FIRST.upper(), f"{FIRST},{SECOND}", "*",
                      "# keys of the test", f"#{THIRD}x", FIRST + FIRST, "null", "a" * 5000,
                      FIRST[0], SECOND.split("#")[0]):
            with self.subTest(value=value[:40]):
                self.assertEqual(self.status(authorization=f"Bearer {value}"), 401)
                self.assertEqual(self.status(x_api_key=value), 401)
                self.assertEqual(self.status(authorization=value), 401)
        for field in ("Authorization: Bearer", "Authorization: Bearer ", "Authorization:",
                      "X-Api-Key:", "X-Api-Key: ", f"Authorization: Bearer{FIRST}",
                      f"Authorization: {FIRST}",
                      f"Authorization: Basic {FIRST}", f"Api-Key: {FIRST}", f"Cookie: key={FIRST}",
                      "Authorization: Bearer \xff\xfe", "X-Api-Key: \xff"):
            self.assertEqual(self.talk(head_of("GET", "/v1/models", field)).status, 401, field)
        self.assertEqual(self.http.get("/v1/models", params={"api_key": FIRST}).status_code, 401)

    def test_who_has_no_key_learns_nothing_of_limits(self):
        for data in (head_of("POST", "/v1/chat/completions", f"Content-Length: {10**12}"),
                     request_of("POST", "/v1/chat/completions", "{")):
            self.assertEqual(self.talk(data).status, 401)
        # What is no request has no key either.
        self.error_of(self.talk(b"nonsense\r\n\r\n"), 400)

    def test_stored_responses_belong_to_their_key(self):
        owner, other = ({"authorization": f"Bearer {key}"} for key in (FIRST, SECOND))
        made = self.http.post("/v1/responses", headers=owner,
                              json={"input": "Hi", "max_output_tokens": 16}).json()
        path = f"/v1/responses/{made['id']}"
        self.assertEqual(self.http.get(path, headers=owner).status_code, 200)
        self.assertEqual(self.http.get(path, headers=other).status_code, 404)
        self.assertEqual(self.http.get(path + "/input_items", headers=other).status_code, 404)
        self.assertEqual(self.http.post(path + "/cancel", headers=other).status_code, 404)
        self.assertEqual(self.http.delete(path, headers=other).status_code, 404)
        reply = self.http.post("/v1/responses", headers=other,
                               json={"input": "Hi", "previous_response_id": made["id"]})
        self.assertEqual(reply.status_code, 400)
        self.assertEqual(self.http.get(path, headers=owner).status_code, 200)

    def test_the_log_tells_neither_keys_nor_prompts(self):
        secret = "Zebras whisper at noon"
        headers = {"authorization": f"Bearer {FIRST}"}
        for path, body in (("/v1/chat/completions", {"messages": [user(secret)], "max_tokens": 2}),
                           ("/v1/chat/completions", {"messages": [user(secret)], secret: 1}),
                           ("/v1/completions", {"prompt": secret, "max_tokens": 2}),
                           ("/v1/messages", {"messages": [user(secret)], "max_tokens": 2,
                                             "model": "x", "stream": True}),
                           ("/v1/responses", {"input": secret, "max_output_tokens": 16}),
                           ("/tokenize", {"content": secret})):
            self.http.post(path, json=body, headers=headers)
        self.http.post("/v1/messages", headers={"x-api-key": FIRST + "x"}, json={})
        self.wait_for(lambda: sum(r.get("path") == "/v1/messages"
                                  for r in self.server.records()) >= 2)
        log = "".join(self.server.log)
        for text in (secret, "Zebras", FIRST, SECOND, THIRD):
            self.assertNotIn(text, log)


    def test_with_keys_any_host_may_be_named(self):
        for headers, status in (({"authorization": f"Bearer {FIRST}"}, 200), ({}, 401)):
            reply = self.http.get("/v1/models", headers={"host": "any.example", **headers})
            self.assertEqual(reply.status_code, status)


class HostsTest(WireCase):
    """A page's own name may lead to a server on loopback without keys: a browser that names it is
    refused."""

    BROWSER = ("user-agent", "Mozilla/5.0 (X11)")

    def refusal(self, status, body):
        self.assertEqual(status, 403, body)
        error = json.loads(body)["error"]
        self.assertIn("'evil.example'", error["message"])
        self.assertIn("--allowed-hosts", error["message"])
        return error

    def status_of(self, host, **more):
        browser = ": ".join(self.BROWSER)
        return self.talk(head_of("GET", "/v1/models", browser, host=host, **more)).status

    def test_other_names_reach_nothing_but_health(self):
        headers = dict([("host", f"evil.example:{self.server.port}"), self.BROWSER])
        for method, path in (*ROUTES, ("GET", "/"), ("GET", "/nothing"), ("PUT", "/health")):
            reply = self.http.request(method, path, headers=headers,
                                      content=b"{}" if method == "POST" else None)
            error = self.refusal(reply.status_code, reply.text)
            if path.startswith("/v1/messages"):
                self.assertEqual(error["type"], "permission_error")
            else:
                self.assertEqual(set(error), {"message", "type", "param", "code"})
        self.assertEqual(self.http.get("/health", headers=headers).status_code, 200)

    def test_names_of_this_machine_are_known(self):
        for host in ("localhost", "LocalHost.:80", "a.localhost", "127.0.0.1", "127.1.2.3:9",
                     "[::1]", "[0::1]:80", ""):
            self.assertEqual(self.status_of(host), 200, host)
        for host in ("localhost.evil.example", "127.0.0.1.evil.example", "evil", "10.0.0.1",
                     "[::2]", "xlocalhost", "0.0.0.0"):
            self.assertEqual(self.status_of(host), 403, host)
        # No browser speaks so, or hides its name.
        self.assertEqual(self.talk(head_of("GET", "/v1/models", host="evil.example")).status, 200)
        self.assertEqual(self.status_of(None, version="HTTP/1.0"), 200)
        self.assertEqual(self.status_of("evil.example", version="HTTP/1.0"), 403)

    def test_a_whole_target_names_the_host(self):
        for target, host, status in (("evil.example", "localhost", 403),
                                     ("user@evil.example", "localhost", 403),
                                     ("localhost:1", "evil.example", 200)):
            answer = self.talk(head_of("GET", f"http://{target}/v1/models",
                                       ": ".join(self.BROWSER), host=host))
            self.assertEqual(answer.status, status, target)

    def test_http2_names_it_too(self):
        with Http2(self.server.port) as client:
            for authority, status in (("evil.example:80", 403), ("LOCALHOST:80", 200)):
                answer = client.wait(client.request("GET", "/v1/models", fields=(self.BROWSER,),
                                                    authority=authority))
                self.assertEqual(answer.status, status, authority)
            answer = client.wait(client.request("POST", "/v1/messages", b"{}",
                                                fields=(self.BROWSER,),
                                                authority="evil.example"))
            self.refusal(answer.status, answer.body)

    def test_http3_names_it_too(self):
        with tempfile.TemporaryDirectory() as held:
            folder = pathlib.Path(held)
            write_certificate(folder)
            server = Server("--tls-certificate", str(folder / "certificate.pem"), "--tls-key",
                            str(folder / "key.pem"), "--threads", "1")
            self.addCleanup(server.kill)
            server.folder = folder

            async def talk():
                async with connected(server) as client:
                    return [await client.fetch("GET", "/v1/models", fields=(self.BROWSER,),
                                               authority=authority)
                            for authority in ("evil.example", "localhost:1")]

            evil, good = asyncio.run(talk())
        self.refusal(evil.status, evil.body)
        self.assertEqual(good.status, 200)

    def test_a_proxys_name_is_known_by_the_option(self):
        for options, others in ((("--allowed-hosts", "llm.example.org"), 403),
                                (("--allowed-hosts", "*"), 200)):
            url = shared_server(*options, "--threads", "1").url
            for host, status in (("llm.example.org", 200), ("LLM.Example.org.:443", 200),
                                 ("localhost", 200), ("evil.example", others),
                                 ("x.llm.example.org", others)):
                reply = httpx.get(url + "/v1/models", headers={"host": host})
                self.assertEqual(reply.status_code, status, (options, host))


class PriorityTest(WireCase):
    @classmethod
    def setUpClass(cls):
        cls.server = shared_server("--max-priority", "3", "--threads", "1")
        cls.http = httpx.Client(base_url=cls.server.url, timeout=60)

    def test_none_above_the_bound_is_taken(self):
        chat = json.loads(chat_body())
        for path, body in (("/v1/chat/completions", chat),
                           ("/v1/chat/completions", {**chat, "stream": True}),
                           ("/v1/completions", {"prompt": ["a", "b"], "max_tokens": 1}),
                           ("/v1/responses", {"input": "a", "max_output_tokens": 16}),
                           ("/v1/responses", {"input": "a", "max_output_tokens": 16,
                                              "background": True})):
            for priority in (4, 2**31 - 1):
                error = self.refused(path, {**body, "priority": priority}, "priority")
                self.assertEqual(error["param"], "priority")
                self.assertIn("at most 3", error["message"])
            for priority in (3, 0, -5, -2**31, None):
                reply = self.http.post(path, json={**body, "priority": priority})
                self.assertEqual(reply.status_code, 200, reply.text)


class OriginsTest(WireCase):
    good = "https://app.example"

    @classmethod
    def setUpClass(cls):
        cls.server = shared_server("--cors-origin", cls.good, "--cors-origin",
                                   "http://localhost:3000", "--threads", "1")
        cls.http = client_of(cls.server)

    @staticmethod
    def cross_origin(reply):
        return {name: value for name, value in reply.headers.items()
                if name.startswith("access-control")}

    def test_without_the_option_no_origin_is_allowed(self):
        for origin in ("https://evil.example", "null", "*", self.good, "http://127.0.0.1",
                       "file://"):
            for method, path in (*ROUTES, ("GET", "/health"), ("GET", "/nothing"),
                                 ("OPTIONS", "/v1/chat/completions")):
                reply = self.http.request(method, tool_server().url + path, headers={
                    "origin": origin, "access-control-request-method": "POST",
                    "access-control-request-headers": "authorization"})
                self.assertEqual(self.cross_origin(reply), {}, (origin, path))

    def test_listed_origins_alone_are_allowed(self):
        for origin in (self.good, "http://localhost:3000"):
            reply = self.http.get("/v1/models", headers={"origin": origin})
            self.assertEqual(reply.headers["access-control-allow-origin"], origin)
            self.assertNotIn("access-control-allow-credentials", reply.headers)
            self.assertIn("origin", reply.headers["vary"].lower())
        for origin in ("https://evil.example", "null", "*", "", self.good + ".evil.example",
                       self.good.upper(), "http://app.example", self.good + ":444", self.good + "/",
                       f"{self.good} https://evil.example", "http://localhost:3001"):
            reply = self.http.get("/v1/models", headers={"origin": origin})
            self.assertEqual(reply.status_code, 200)
            self.assertEqual(self.cross_origin(reply), {}, origin)
            self.assertIn("origin", reply.headers["vary"].lower())

    def test_errors_and_streams_can_be_read_too(self):
        headers = {"origin": self.good}
        for reply in (self.http.post("/v1/chat/completions", content="{", headers=headers),
                      self.http.get("/nothing", headers=headers),
                      self.http.post("/v1/chat/completions", content=chat_body(stream=True),
                                     headers=headers)):
            self.assertEqual(reply.headers["access-control-allow-origin"], self.good)

    def test_a_preflight_allows_what_clients_in_pages_send(self):
        wanted = ("authorization", "content-type", "x-api-key", "anthropic-version",
                  "anthropic-beta", "anthropic-dangerous-direct-browser-access", "openai-beta",
                  "x-stainless-lang", "x-stainless-retry-count")
        headers = {"origin": self.good, "access-control-request-method": "POST",
                   "access-control-request-headers": ",".join(wanted)}
        reply = self.http.options("/v1/chat/completions", headers=headers)
        self.assertEqual((reply.status_code, reply.content), (204, b""))
        self.assertEqual(reply.headers["access-control-allow-origin"], self.good)
        self.assertNotIn("access-control-allow-credentials", reply.headers)
        self.assertIn("POST", reply.headers["access-control-allow-methods"])
        allowed = {name.strip().lower()
                   for name in reply.headers["access-control-allow-headers"].split(",")}
        self.assertLessEqual(set(wanted), allowed)
        evil = self.http.options("/v1/chat/completions",
                                 headers={**headers, "origin": "https://evil.example"})
        self.assertEqual(self.cross_origin(evil), {})
        self.assertNotEqual(evil.status_code, 204)


class MutationTest(WireCase):
    """Nothing that a client sends is the server's own failure."""

    @classmethod
    def setUpClass(cls):
        # A small context ends what asks for no end.
        cls.server = shared_server("--chat-template-file", str(TOOL_TEMPLATE), "--no-request-log",
                                   "--context", "320", "--threads", "1")
        cls.http = client_of(cls.server)
        cls.model = cls.http.get("/v1/models").json()["data"][0]["id"]

    def bodies(self):
        chat = {"model": self.model, "messages": [{"role": "system", "content": "Be kind."},
                                                  user("Hi")],
                "max_tokens": 3, "temperature": 0.5, "top_p": 0.9, "seed": 3, "n": 1, "stop": ["x"],
                "logprobs": True, "top_logprobs": 2, "tools": [weather_tool()],
                "tool_choice": "auto", "logit_bias": {"5": 1}, "stream": False}
        schema = {"type": "object", "properties": {"a": {"type": "integer", "enum": [1, 2]}},
                  "required": ["a"], "additionalProperties": False}
        shaped = {"messages": [user("Hi")], "max_tokens": 4, "response_format": {
            "type": "json_schema", "json_schema": {"name": "a", "schema": schema, "strict": True}}}
        return (
            ("/v1/chat/completions", chat), ("/v1/chat/completions", shaped),
            ("/v1/completions", {"prompt": ["Hi", "Ho"], "max_tokens": 2, "echo": True,
                                 "logprobs": 1, "best_of": 1}),
            ("/v1/responses", {"input": [{"role": "user", "content": [
                {"type": "input_text", "text": "Hi"}]}], "instructions": "x",
                "max_output_tokens": 16, "store": False, "metadata": {"a": "b"},
                "text": {"format": {"type": "text"}}}),
            ("/v1/messages", {"model": self.model, "max_tokens": 2, "system": "x", "messages": [
                {"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
                "stop_sequences": ["y"], "metadata": {"user_id": "u"}}),
            ("/v1/messages/count_tokens", {"model": self.model, "messages": [user("Hi")]}),
            ("/tokenize", {"content": "abc", "add_special": True, "parse_special": False}),
            ("/detokenize", {"tokens": [1, 2, 3]}),
            ("/apply-template", {"messages": [user("Hi")]}))

    def mutate(self, value, rng):
        """The value with one place changed."""
        places = []

        def walk(node, path):
            places.append(path)
            items = (node.items() if isinstance(node, dict)
                     else enumerate(node) if isinstance(node, list) else ())
            for key, child in items:
                walk(child, (*path, key))

        walk(value, ())
        if len(places) == 1:
            return value
        path = rng.choice(places[1:])
        parent = value = json.loads(json.dumps(value))
        for key in path[:-1]:
            parent = parent[key]
        odd = (None, True, False, 0, -1, 1, 2**31, 2**63, -2**63, 1e308, -1e-320, 1.5, 10**40, "",
               "a", "\u0000", "\ud800", "a" * 3000, "<|im_start|>", "\U0001f600", [], {}, [[]],
               [None],
               {"": ""}, {"a": 1}, [1, "a", None], "auto", "required", "json_object", ["x"] * 40)
        kind = rng.randrange(4)
        if kind == 0 and isinstance(parent, dict):
            parent[rng.choice(("x", "type", "id", "role", "content", ""))] = rng.choice(odd)
        elif kind == 1:
            del parent[path[-1]]
        elif kind == 2:
            for _ in range(rng.randrange(1, 60)):
                parent[path[-1]] = ({"a": parent[path[-1]]} if rng.random() < 0.5
                                    else [parent[path[-1]]])
        else:
            parent[path[-1]] = rng.choice(odd)
        return value

    def spoil(self, text, rng):
        """The bytes of a body with a few of them changed."""
        data = bytearray(text.encode("utf-8", "surrogatepass"))
        for _ in range(rng.randrange(1, 4)):
            at = rng.randrange(len(data))
            kind = rng.randrange(3)
            if kind == 0:
                data[at] = rng.randrange(256)
            elif kind == 1:
                del data[at:at + rng.randrange(1, 8)]
            else:
                data[at:at] = rng.choice((b"{", b"[", b'"', b"\\u", b"\\ud800", b"1e999", b"\0",
                                          b"\xff", b"NaN", b",", b"}"))
            data = data or bytearray(b"{")
        return bytes(data)

    def test_mutated_bodies_have_200_or_400(self):
        rng = random.Random(SEED)
        bodies = self.bodies()
        allowed = {200, 400, 404, 413, 422}
        for index in range(MUTATIONS):
            path, body = bodies[index % len(bodies)]
            for _ in range(rng.randrange(1, 3)):
                body = self.mutate(body, rng)
            text = json.dumps(body, ensure_ascii=rng.random() < 0.7)
            data = text.encode("utf-8", "surrogatepass")
            if rng.random() < 0.3:
                data = self.spoil(json.dumps(body), rng)
            reply = self.http.post(path, content=data)
            self.assertIn(reply.status_code, allowed, (path, data, reply.text))
            if reply.status_code != 200:
                self.assertTrue(reply.json()["error"]["message"])
            elif reply.headers["content-type"].startswith("application/json"):
                reply.json()
        self.assertEqual(self.chat()["object"], "chat.completion")
        self.wait_until_idle()

    def test_depth_ends_in_400(self):
        for path, _ in self.bodies():
            for text in ("[" * 100000, '{"a":' * 100000, '{"messages":' + "[" * 50000,
                         '{"x":' + "[" * 5000 + "]" * 5000 + "}"):
                reply = self.http.post(path, content=text)
                self.assertEqual(reply.status_code, 400)

    def test_ids_of_any_kind_have_404(self):
        for name in ("x", "../../x", "%00", "%ff", "resp_" + "a" * 1000, "'\"<script>",
                     "%F0%9F%98%80"):
            for method, tail in (("GET", ""), ("DELETE", ""), ("POST", "/cancel"),
                                 ("GET", "/input_items")):
                path = "/v1/responses/" + name.replace("/", "%2F") + tail
                self.assertEqual(self.http.request(method, path).status_code, 404, path)


if __name__ == "__main__":
    unittest.main()
