"""Bodies that are refused: which, with what status, and in what form."""

import json
import pathlib
import unittest

import httpx

from harness import Case, model as model_path, shared_server, user
from openai_stream import CHAT, TEXT

TOKENS = "/tokenize"
BAD_NUMBERS = ("1", True, [], {})
# Field: values that are refused; each with its name.
OF_BOTH = {
    "temperature": (-0.01, 2.01, 1e308, *BAD_NUMBERS),
    "top_p": (-0.01, 1.01, *BAD_NUMBERS),
    "top_k": (-2, 1.5, 10**30, *BAD_NUMBERS),
    "min_p": (-0.01, 1.01, *BAD_NUMBERS),
    "typical_p": (0, -1, 1.01, *BAD_NUMBERS),
    "seed": (1.5, 2**64, -2**64, *BAD_NUMBERS),
    "repetition_penalty": (0, -1, 1e9, *BAD_NUMBERS),
    "repeat_penalty": (0, -1, *BAD_NUMBERS),
    "presence_penalty": (-2.01, 2.01, *BAD_NUMBERS),
    "frequency_penalty": (-2.01, 2.01, *BAD_NUMBERS),
    "penalty_last_n": (-2, 0.5, *BAD_NUMBERS),
    "logit_bias": ({"1": 101}, {"1": -101}, {"1": "5"}, {"1": None}, {"a": 1}, {"-1": 1}, {"": 1},
                   {"99999999": 1}, {"1.5": 1}, [], [[1, 2]], "1", 1, True,
                   {str(i): 1 for i in range(2000)}),
    "n": (0, -1, 129, 1.5, 10**30, *BAD_NUMBERS),
    "max_tokens": (-1, 1.5, 10**30, *BAD_NUMBERS),
    "stream": ("true", 1, 0, [], {}),
    "stream_options": ({"include_usage": True}, 1, "x", []),
    "stop": ("", [""], ["a", ""], [1], 1, {}, True, [None], [["a"]], ["a"] * 17, "a" * 1025),
    "stop_token_ids": ([-1], [10**9], ["1"], [1.5], 1, "1", {}),
    "min_tokens": (-1, 5, 1.5, *BAD_NUMBERS),
    "ignore_eos": ("true", 1, []),
    "cache_prompt": ("true", 1, []),
    "user": (1, [], {}, True),
    "metadata": (1, [], "a", {"a": 1}, {"a" * 65: "b"}, {"a": "b" * 513},
                 {str(i): "x" for i in range(17)}),
    "best_of": (0, -1, 129, "2", 1.5),
    "priority": ("1", 1.5, 2**40),
    "time_limit_seconds": (0, -1, "1", 1e9),
    "response_format": (1, "json", [], {}, {"type": "xml"}, {"type": 1}, {"type": "json_schema"}),
    "model": (1, [], {}, True),
    "unknown_field": (1, False, {}, "x"),
    "Temperature": (1,),
    "temperature ": (1,),
    "temperture": (1,),
}
OF_CHAT = {
    "messages": (None, [], {}, "Hi", 1, [1], ["Hi"], [[]], [None]),
    "max_tokens": (0,),
    "max_completion_tokens": (0, -1, 1.5, *BAD_NUMBERS),
    "logprobs": (1, 0, "true", [], {}),
    "top_logprobs": (-1, 21, 1.5, "1", True, 1),  # the last without "logprobs"
    "functions": ([],),
    "function_call": ("auto",),
    "audio": ({},),
    "prediction": ({"type": "content", "content": "a"},),
    "web_search_options": ({},),
    "modalities": (["audio"], ["text", "audio"], "text", 1),
    "store": (True, 1),
    "service_tier": ("flex", "priority", 1),
    "reasoning_effort": ("most", 1),
    "prompt": ("Hi",),
    "echo": (True,),
    "suffix": ("a",),
}
OF_TEXT = {
    "prompt": (None, [], 1, {}, True, [[]], ["a", 1], [1, "a"], [-1], [10**9], [1.5], [None],
               [[[1]]], ["a"] * 2000),
    "max_tokens": (0,),
    "suffix": ("a", 1),
    "logprobs": (-1, 21, 1.5, "1", True, []),
    "echo": (1, "true"),
    "messages": ([user("Hi")],),
    "tools": ([],),
    "top_logprobs": (1,),
    "max_completion_tokens": (1,),
}


class Refusals(Case):
    def check_error(self, reply, status, kind="invalid_request_error"):
        self.assertEqual(reply.status_code, status, reply.text)
        self.assertEqual(reply.headers["content-type"].split(";")[0], "application/json")
        body = reply.json()
        self.assertEqual(set(body), {"error"})
        error = body["error"]
        self.assertEqual(set(error), {"message", "type", "param", "code"})
        self.assertIsInstance(error["message"], str)
        self.assertTrue(error["message"])
        self.assertEqual(error["type"], kind)
        for field in ("param", "code"):
            self.assertIsInstance(error[field], (str, type(None)))
        return error

    def check_table(self, path, base, table):
        for field, values in table.items():
            for value in values:
                with self.subTest(field=field, value=str(value)[:60]):
                    reply = self.http.post(path, json={**base, field: value})
                    error = self.check_error(reply, 400)
                    self.assertTrue(error["param"].startswith(field), error)

    def test_fields_of_chat(self):
        base = {"messages": [user("Hi")], "max_tokens": 2}
        self.check_table(CHAT, base, OF_BOTH)
        self.check_table(CHAT, base, OF_CHAT)

    def test_fields_of_completions(self):
        base = {"prompt": "Hi", "max_tokens": 2}
        self.check_table(TEXT, base, OF_BOTH)
        self.check_table(TEXT, base, OF_TEXT)

    def test_fields_that_contradict(self):
        for path, body, field in (
                (CHAT, {"messages": [user("a")], "max_tokens": 2, "max_completion_tokens": 3}, "max_"),
                (TEXT, {"prompt": "a", "n": 3, "best_of": 2}, "best_of"),
                (TEXT, {"prompt": "a", "best_of": 2, "stream": True}, "best_of"),
                (TEXT, {"prompt": "a", "repeat_penalty": 1, "repetition_penalty": 1}, "repe"),
                (TEXT, {"prompt": "a", "max_tokens": 2, "min_tokens": 3}, "min_tokens")):
            with self.subTest(body=body):
                error = self.check_error(self.http.post(path, json=body), 400)
                self.assertTrue(error["param"].startswith(field), error)

    def test_bodies_that_are_no_json(self):
        chat = json.dumps({"messages": [user("Hi")], "max_tokens": 1}).encode()
        bodies = (b"", b" ", b"{", b"}", chat[:-1], chat + b"x", chat + chat, b"nonsense", b"{'a': 1}",
                  b'{"messages": [{"role": "user", "content": "a"},]}', b'{"a": NaN}', b'{"a": Infinity}',
                  b'{"a": 01}', b'{"a": .5}', b'{"a": 1.}', b'{"a": +1}', b'{"a": 1e999}', b'{"a": "\n"}',
                  b'{"a": "\x00"}', b'{"a": "\\x41"}', b'{"a": "\\u12"}', b'{"a": tru}', b"\x00" + chat,
                  b'{"a": 1 /* no */}', b'{a: 1}', b"\xff\xfe{\x00}\x00",
                  b'{"messages": [{"role": "user", "content": "\xff"}]}',
                  b'{"messages": [{"role": "user", "content": "\xc0\x80"}]}',
                  b'{"messages": [{"role": "user", "content": "\xed\xa0\x80"}]}',
                  b'{"messages": [{"role": "user", "content": "\xf4\x90\x80\x80"}]}',
                  b'{"messages": [{"role": "user", "content": "\\ud800"}]}',
                  b'{"messages": [{"role": "user", "content": "\\ud800x"}]}',
                  b'{"messages": [{"role": "user", "content": "\\udc00"}]}',
                  b'{"messages": [{"role": "user", "content": "\\udc00\\ud800"}]}',
                  b'{"messages": [{"role": "user", "content": "\\ud800\\ud800"}]}',
                  b'{"\\ud800": 1}')
        for path in (CHAT, TEXT, TOKENS, "/detokenize", "/apply-template"):
            for body in bodies:
                with self.subTest(path=path, body=body[:60]):
                    self.check_error(self.http.post(path, content=body), 400)

    def test_nesting(self):
        for count in (1000, 10_000, 1_000_000):
            for body in (b"[" * count + b"]" * count, b'{"a":' * count + b"1" + b"}" * count, b"[" * count,
                         b'{"messages":' + b"[" * count + b"]" * count + b"}",
                         b'{"messages":[{"role":"user","content":"a"}],"metadata":' +
                         b'{"a":' * count + b"1" + b"}" * count + b"}"):
                self.check_error(self.http.post(CHAT, content=body), 400)

    def test_bodies_that_are_no_object(self):
        for body in ([], [1], 5, "Hi", None, True, [{"messages": [user("Hi")]}]):
            for path in (CHAT, TEXT, TOKENS, "/detokenize", "/apply-template"):
                self.check_error(self.http.post(path, json=body), 400)

    def test_keys_that_come_twice(self):
        for body in (b'{"messages":[{"role":"user","content":"a"}],"max_tokens":1,"max_tokens":2}',
                     b'{"messages":[{"role":"user","content":"a","content":"b"}]}',
                     b'{"messages":[{"role":"user","content":"a"}],"max_tokens":1,"\\u006dax_tokens":1}'):
            error = self.check_error(self.http.post(CHAT, content=body), 400)
            self.assertIn("duplicate", error["message"])

    def test_what_is_tolerated(self):
        body = {"messages": [user("Hi \U0001f99c")], "max_tokens": 1}
        escaped = json.dumps(body).encode()
        plain = json.dumps(body, ensure_ascii=False).encode()
        for content in (escaped, plain, b" \r\n\t" + plain + b"\n"):
            for kind in ("application/json", "application/json; charset=utf-8", "text/plain", "", None,
                         "application/x-www-form-urlencoded"):
                headers = {} if kind is None else {"content-type": kind}
                reply = self.http.post(CHAT, content=content, headers=headers)
                self.assertEqual(reply.status_code, 200, reply.text)
        for number in ("1.0", "1e0", "10e-1"):
            reply = self.http.post(CHAT, content=plain.replace(b'"max_tokens": 1',
                                                               f'"max_tokens": {number}'.encode()))
            self.assertEqual(reply.status_code, 200, reply.text)

    def test_a_byte_order_mark(self):
        """RFC 8259 lets a parser ignore it; what it must not be is a failure of the server's own."""
        body = b"\xef\xbb\xbf" + json.dumps({"messages": [user("Hi")], "max_tokens": 1}).encode()
        reply = self.http.post(CHAT, content=body)
        self.assertIn(reply.status_code, (200, 400))

    def test_models(self):
        for path, body in ((CHAT, {"messages": [user("a")], "max_tokens": 1}), (TEXT, {"prompt": "a"}),
                           (TOKENS, {"content": "a"}), ("/detokenize", {"tokens": [1]}),
                           ("/apply-template", {"messages": [user("a")]})):
            reply = self.http.post(path, json={**body, "model": "no-such-model"})
            error = self.check_error(reply, 404)
            self.assertEqual((error["param"], error["code"]), ("model", "model_not_found"))
            self.assertIn("no-such-model", error["message"])
            for model in (self.model, None, pathlib.Path(model_path()).name):
                reply = self.http.post(path, json={**body, "model": model})
                self.assertEqual(reply.status_code, 200, reply.text)
            self.assertEqual(self.http.post(path, json=body).status_code, 200)
        error = self.check_error(self.http.get("/v1/models/no-such-model"), 404)
        self.assertEqual(error["code"], "model_not_found")

    def test_the_list_of_models(self):
        reply = self.http.get("/v1/models").json()
        self.assertEqual(reply["object"], "list")
        [model] = reply["data"]
        self.assertEqual((model["object"], type(model["created"]), type(model["owned_by"])),
                         ("model", int, str))
        self.assertEqual(self.http.get(f"/v1/models/{model['id']}").json(), model)
        reply = self.post(CHAT, {"messages": [user("a")], "max_tokens": 1})
        self.assertEqual(reply["model"], model["id"])

    def test_a_name_with_signs_that_paths_have(self):
        server = shared_server("--model-name", "maker/a model:1", "--no-request-log",
                               "--threads", "1")
        for path in ("maker/a%20model:1", "maker%2Fa%20model%3A1"):
            reply = self.http.get(f"{server.url}/v1/models/{path}")
            self.assertEqual(reply.json().get("id"), "maker/a model:1")
        for path in ("maker", "maker/other", "%", "%zz", "%ff", "a%00b"):
            error = self.check_error(self.http.get(f"{server.url}/v1/models/{path}"), 404)
            self.assertEqual(error["code"], "model_not_found")

    def test_routes_and_methods(self):
        for method, path in (("GET", "/"), ("GET", "/v1"), ("POST", "/v1/chat"), ("POST", "/v1/chat/completion"),
                             ("GET", "/v1/models/"), ("POST", CHAT + "/"), ("POST", "//v1/chat/completions"),
                             ("POST", "/V1/chat/completions"), ("GET", "/v1/chat/completions/x"),
                             ("DELETE", "/nothing")):
            with self.subTest(method=method, path=path):
                request = httpx.Request(method, self.server.url + path)
                self.check_error(self.http.send(request), 404)
        for method, path, allowed in (("GET", CHAT, "POST"), ("PUT", CHAT, "POST"), ("DELETE", TEXT, "POST"),
                                      ("GET", TOKENS, "POST"), ("PATCH", "/detokenize", "POST"),
                                      ("GET", "/apply-template", "POST"), ("POST", "/v1/models", "GET")):
            with self.subTest(method=method, path=path):
                reply = self.http.request(method, path)
                self.check_error(reply, 405)
                self.assertIn(allowed, reply.headers["allow"])
        self.assertEqual(self.http.post(CHAT + "?a=b", json={"messages": [user("a")], "max_tokens": 1})
                         .status_code, 200)

    def test_the_server_is_well_after_all_of_it(self):
        self.assertEqual(self.http.get("/health").status_code, 200)
        self.assertTrue(self.chat(max_tokens=1)["choices"])


if __name__ == "__main__":
    unittest.main()
