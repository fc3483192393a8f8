"""/v1/messages beyond what the official client needs: fields, stop reasons, usage and errors."""

import unittest

from harness import SHORT_QUESTIONS, Case, user, weather_tool


def tool(name="get_weather", **more):
    function = weather_tool()["function"]
    return {"name": name, "description": function["description"],
            "input_schema": function["parameters"], **more}


def text_of(message):
    return "".join(block["text"] for block in message["content"] if block["type"] == "text")


def prompt_tokens(usage):
    return (usage["input_tokens"] + usage["cache_read_input_tokens"]
            + usage["cache_creation_input_tokens"])


class MessagesCase(Case):
    def body(self, **fields):
        return {"model": self.model, "max_tokens": 24, "temperature": 0,
                "messages": [user("Name three colours.")], **fields}

    def message(self, status=200, **fields):
        return self.post("/v1/messages", self.body(**fields), status)

    def count(self, **fields):
        return self.post("/v1/messages/count_tokens", {
            "model": self.model, "messages": [user("Name three colours.")], **fields})["input_tokens"]


class Answers(MessagesCase):
    def test_shape(self):
        message = self.message()
        self.assertTrue(message["id"].startswith("msg_"))
        self.assertEqual((message["type"], message["role"], message["model"]),
                         ("message", "assistant", self.model))
        self.assertIsNone(message["stop_sequence"])
        self.assertEqual([block["type"] for block in message["content"]], ["text"])

    def test_stop_reasons(self):
        self.assertIn("end_turn", [self.message(max_tokens=200, messages=[user(question)])
                                   ["stop_reason"] for question in SHORT_QUESTIONS])
        text = text_of(self.message())
        cut = self.message(max_tokens=3)
        self.assertEqual((cut["stop_reason"], cut["usage"]["output_tokens"]), ("max_tokens", 3))
        self.assertTrue(text.startswith(text_of(cut)))
        stop = text[4:7]
        stopped = self.message(stop_sequences=["never", stop])
        self.assertEqual((stopped["stop_reason"], stopped["stop_sequence"]), ("stop_sequence", stop))
        self.assertEqual(text_of(stopped), text[:text.index(stop)])
        called = self.message(tools=[tool()], max_tokens=200, tool_choice={
            "type": "any", "disable_parallel_tool_use": True})
        self.assertEqual(called["stop_reason"], "tool_use")

    def test_usage_is_true(self):
        fields = {"system": "Tell the truth about every number that you are asked for, always.",
                  "messages": [user("How many tokens does this prompt have, counted one by one?")]}
        counted = self.count(**fields)
        first, second = self.message(**fields), self.message(**fields)
        for message in (first, second):
            self.assertEqual(prompt_tokens(message["usage"]), counted)
        self.assertGreater(second["usage"]["cache_read_input_tokens"], 10)
        self.assertLess(second["usage"]["input_tokens"], counted)
        self.assertEqual(text_of(first), text_of(second))

    def test_count_sees_all_of_the_prompt(self):
        plain = self.count()
        self.assertGreater(self.count(system="Be brief."), plain)
        self.assertGreater(self.count(tools=[tool()]), plain)
        self.assertEqual(self.count(tools=[tool()]), prompt_tokens(
            self.message(tools=[tool()], max_tokens=1)["usage"]))

    def test_blocks_and_strings_are_the_same(self):
        blocks = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
        content = [{"type": "text", "text": "Name three colours."}]
        self.assertEqual(text_of(self.message(system="Be brief.")),
                         text_of(self.message(system=blocks,
                                              messages=[{"role": "user", "content": content}])))

    def test_consecutive_roles_are_one_turn(self):
        parts = [{"type": "text", "text": "Name"}, {"type": "text", "text": "colours."}]
        self.assertEqual(self.count(messages=[user("Name"), user("colours.")]),
                         self.count(messages=[{"role": "user", "content": parts}]))

    def test_prefill_goes_on(self):
        messages = [user("Count from one to nine."), {"role": "assistant", "content": "1, 2, 3, 4,"}]
        message = self.message(messages=messages)
        self.assertFalse(text_of(message).startswith("1, 2"), message)
        self.assertIn("5", text_of(message)[:4])
        self.assertEqual(prompt_tokens(message["usage"]), self.count(messages=messages))

    def test_query_and_headers_change_nothing(self):
        plain = text_of(self.message())
        for headers in ({}, {"anthropic-version": "2023-06-01"},
                        {"anthropic-version": "2023-06-01", "x-api-key": "any",
                         "anthropic-beta": "interleaved-thinking-2025-05-14,unknown-2030-01-01"}):
            reply = self.post("/v1/messages?beta=true", self.body(), headers=headers)
            self.assertEqual(text_of(reply), plain)

    def test_sampling(self):
        self.assertEqual(text_of(self.message(temperature=1, top_k=1)), text_of(self.message()))
        self.message(top_p=0.5, top_k=5)
        self.message(temperature=1, thinking={"type": "disabled"}, metadata={"user_id": "u"},
                     service_tier="auto")

    def test_as_claude_code_sends_them(self):
        cached = {"cache_control": {"type": "ephemeral"}}
        body = self.body(
            system=[{"type": "text", "text": "You are a coding agent.", **cached},
                    {"type": "text", "text": "The folder is /tmp.", **cached}],
            tools=[tool(f"Tool{i}") for i in range(12)] + [tool("Last", **cached)],
            metadata={"user_id": "user_0_account__session_0"}, thinking={"type": "adaptive"},
            output_config={"effort": "high"}, temperature=1, max_tokens=32000, stop_sequences=["\n"],
            context_management={"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
            messages=[
                {"role": "user", "content": [{"type": "text", "text": "<system-reminder>"},
                                             {"type": "text", "text": "List files.", **cached}]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "A tool.", "signature": "s"},
                    {"type": "tool_use", "id": "toolu_1", "name": "Tool1", "input": {"a": "b"}},
                    {"type": "tool_use", "id": "toolu_2", "name": "Tool2", "input": {}}]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "toolu_2", "is_error": True,
                     "content": "no"},
                    {"type": "tool_result", "tool_use_id": "toolu_1",
                     "content": [{"type": "text", "text": "a.txt"}], **cached},
                    {"type": "text", "text": "Go on."}]}])
        events = self.events("/v1/messages?beta=true", body)
        self.assertEqual((events[0][0], events[-1][0]), ("message_start", "message_stop"))


class Tools(MessagesCase):
    def uses(self, **fields):
        message = self.message(tools=[tool("first"), tool("second")], max_tokens=300, **fields)
        return [block for block in message["content"] if block["type"] == "tool_use"]

    def test_choices(self):
        named = self.uses(tool_choice={"type": "tool", "name": "second",
                                       "disable_parallel_tool_use": True})
        self.assertEqual([use["name"] for use in named], ["second"])
        self.assertIn(named[0]["input"]["unit"], ("C", "F"))
        self.assertTrue(named[0]["id"].startswith("toolu_"))
        one = self.uses(tool_choice={"type": "any", "disable_parallel_tool_use": True})
        self.assertEqual(len(one), 1)
        self.assertEqual(self.uses(tool_choice={"type": "none"}), [])

    def test_results_go_back(self):
        uses = [{"type": "tool_use", "id": f"toolu_{i}", "name": "get_weather",
                 "input": {"city": city, "unit": "C"}} for i, city in enumerate(("Rome", "Oslo"))]
        results = [{"type": "tool_result", "tool_use_id": "toolu_0", "content": "21 degrees"},
                   {"type": "tool_result", "tool_use_id": "toolu_1"}]
        turns = [user("Compare Rome and Oslo."), {"role": "assistant", "content": uses}]
        both = [*turns, {"role": "user", "content": results}]
        self.message(messages=both, tools=[tool()])
        failed = [{**results[0], "is_error": True}, results[1]]
        self.assertNotEqual(self.count(messages=both, tools=[tool()]),
                            self.count(messages=[*turns, {"role": "user", "content": failed}],
                                       tools=[tool()]))
        for content, field in (([results[0]], "messages.1.content.1"),
                               ([*results, results[0]], "messages.2.content.2"),
                               ("Never mind.", "messages.1.content.1")):
            error = self.message(400, messages=[*turns, {"role": "user", "content": content}],
                                 tools=[tool()])["error"]
            self.assertIn(field, error["message"])

    def test_format(self):
        schema = {"type": "object", "additionalProperties": False, "required": ["n"],
                  "properties": {"n": {"enum": [1, 2]}}}
        for fields in ({"output_config": {"format": {"type": "json_schema", "schema": schema}}},
                       {"output_format": {"type": "json_schema", "schema": schema}}):
            self.assertRegex(text_of(self.message(max_tokens=60, **fields)), r'^\{\s*"n"\s*:\s*[12]\s*\}$')


class Refusals(MessagesCase):
    def check(self, body, field, status=400, kind="invalid_request_error"):
        reply = self.http.post("/v1/messages", json=body)
        self.assertEqual(reply.status_code, status, reply.text)
        error = reply.json()
        self.assertEqual(sorted(error), ["error", "request_id", "type"])
        self.assertEqual(error["type"], "error")
        self.assertEqual(sorted(error["error"]), ["message", "type"])
        self.assertEqual(error["error"]["type"], kind)
        self.assertIn(field, error["error"]["message"])
        self.assertEqual(error["request_id"], reply.headers["request-id"])

    def test_every_refusal_names_its_field(self):
        image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ""}}
        for fields, field in (
                ({"max_tokens": None}, "max_tokens"), ({"max_tokens": 0}, "max_tokens"),
                ({"max_tokens": "9"}, "max_tokens"), ({"model": None}, "model"),
                ({"temperature": 1.01}, "temperature"), ({"temperature": -0.1}, "temperature"),
                ({"top_p": 1.5}, "top_p"), ({"top_k": -1}, "top_k"), ({"n": 2}, "n"),
                ({"max_completion_tokens": 3}, "max_completion_tokens"),
                ({"stop": ["x"]}, "stop"), ({"stop_sequences": [""]}, "stop_sequences.0"),
                ({"stream": "true"}, "stream"), ({"metadata": {"colour": "x"}}, "metadata.colour"),
                ({"container": "c"}, "container"), ({"mcp_servers": []}, "mcp_servers"),
                ({"thinking": {"type": "enabled"}}, "thinking.budget_tokens"),
                ({"thinking": {"type": "enabled", "budget_tokens": 24}}, "thinking.budget_tokens"),
                ({"thinking": {"type": "x"}}, "thinking.type"),
                ({"messages": None}, "messages"), ({"messages": []}, "messages"),
                ({"messages": "x"}, "messages"), ({"messages": [user("")]}, "messages.0.content"),
                ({"messages": [user("  \n")]}, "messages.0.content"),
                ({"messages": [{"role": "user", "content": []}]}, "messages.0.content"),
                ({"messages": [{"role": "user", "content": [{"type": "text", "text": ""}]}]},
                 "messages.0.content.0.text"),
                ({"messages": [{"role": "user", "content": [image]}]}, "image"),
                ({"messages": [{"role": "system", "content": "x"}, user("x")]}, "messages.0.role"),
                ({"messages": [{"role": "tool", "content": "x"}]}, "messages.0.role"),
                ({"messages": [user("x"), {"role": "assistant", "content": "y "}]}, "messages"),
                ({"messages": [{"role": "user", "content": "x", "name": "y"}]}, "messages.0.name"),
                ({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, "tools.0"),
                ({"tools": [{"name": "a b", "input_schema": {}}]}, "tools.0.name"),
                ({"tools": [{"name": "a"}]}, "tools.0.input_schema"),
                ({"tools": [tool(), tool()]}, "tools.1.name"),
                ({"tool_choice": {"type": "any"}}, "tool_choice"),
                ({"tools": [tool()], "tool_choice": {"type": "tool", "name": "x"}}, "tool_choice.name"),
                ({"tools": [tool()], "tool_choice": "any"}, "tool_choice"),
                ({"output_config": {"format": {"type": "json_schema", "schema": {"type": "objekt"}}}},
                 "output_config.format"),
                ({"context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}},
                 "context_management")):
            with self.subTest(fields=str(fields)[:80]):
                self.check(self.body(**fields), field)

    def test_other_kinds(self):
        self.check(self.body(model="nobody"), "nobody", 404, "not_found_error")
        self.check(self.body(messages=[user("word " * 30000)]), "messages")
        for method, path, status, kind in (("GET", "/v1/messages", 405, "invalid_request_error"),
                                           ("POST", "/v1/messages/nothing", 404, "not_found_error")):
            reply = self.http.request(method, path)
            self.assertEqual((reply.status_code, reply.json()["error"]["type"]), (status, kind))

    def test_count_refuses_what_is_not_of_the_prompt(self):
        for field in ("max_tokens", "temperature", "stream", "colour"):
            reply = self.post("/v1/messages/count_tokens", {
                "model": self.model, "messages": [user("x")], field: 1}, 400)
            self.assertIn(field, reply["error"]["message"])

    def test_bad_json(self):
        for body in (b"", b"{", b"[]", b'"x"', b'{"a":1}x', b"\xff", b'{"model": "\\ud800"}'):
            reply = self.http.post("/v1/messages", content=body)
            self.assertEqual(reply.status_code, 400, body)
            self.assertEqual(reply.json()["error"]["type"], "invalid_request_error")


if __name__ == "__main__":
    unittest.main()
