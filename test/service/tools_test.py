"""Tools: who may be called, how calls come, and what they cost."""

import json
import unittest

import json_schema
from harness import Case, at_once, client_of, shared_server, user, weather_tool

CITY = {"type": "object", "properties": {"city": {"type": "string", "maxLength": 12}},
        "required": ["city"], "additionalProperties": False}


def tool(name, parameters=CITY, **more):
    function = {"name": name, "description": "A tool", "parameters": parameters, **more}
    if parameters is None:
        del function["parameters"]
    return {"type": "function", "function": function}


def named(name):
    return {"type": "function", "function": {"name": name}}


def rebuilt(events):
    """(content, reasoning, calls, reasons) of a stream of one choice, and what each chunk must be."""
    content, calls, reasons = "", [], []
    for _, data in events:
        if data == "[DONE]":
            continue
        assert "error" not in data, data
        for choice in data["choices"]:
            delta = choice["delta"]
            content += delta.get("content") or ""
            for part in delta.get("tool_calls") or []:
                if part["index"] == len(calls):
                    calls.append({"id": part["id"], "name": part["function"]["name"],
                                  "type": part["type"], "pieces": []})
                    assert not part["function"].get("arguments"), part
                else:
                    assert part["index"] == len(calls) - 1, part
                    assert "id" not in part and "name" not in part["function"], part
                    calls[-1]["pieces"].append(part["function"]["arguments"])
            if choice["finish_reason"]:
                reasons.append(choice["finish_reason"])
    return content, calls, reasons


class ToolChoice(Case):
    tools = [tool("get_weather"), tool("get_time")]

    def calls_of(self, answer):
        message = answer["choices"][0]["message"]
        self.assertEqual(answer["choices"][0]["finish_reason"], "tool_calls")
        self.assertIsNone(message["content"])
        calls = message["tool_calls"]
        self.assertEqual(len({call["id"] for call in calls}), len(calls))
        for call in calls:
            self.assertEqual(call["type"], "function")
            self.assertEqual(json_schema.errors(CITY, json.loads(call["function"]["arguments"])), [])
        return [call["function"]["name"] for call in calls]

    def test_named(self):
        names = ["get_weather", "get_time"] * 3
        answers = at_once(lambda name, seed: self.chat(
            tools=self.tools, tool_choice=named(name), max_tokens=200, temperature=1.2, seed=seed,
            parallel_tool_calls=False), names, range(6))
        self.assertEqual([self.calls_of(answer) for answer in answers], [[name] for name in names])

    def test_named_may_be_called_more_than_once_only_by_name(self):
        for answer in at_once(lambda seed: self.chat(
                tools=self.tools, tool_choice=named("get_time"), max_tokens=300, temperature=1.2,
                seed=seed), range(3)):
            if answer["choices"][0]["finish_reason"] == "tool_calls":
                self.assertEqual(set(self.calls_of(answer)), {"get_time"})

    def test_required(self):
        for answer in at_once(lambda seed: self.chat(
                tools=self.tools, tool_choice="required", max_tokens=200, temperature=1.2, seed=seed,
                parallel_tool_calls=False), range(4)):
            self.assertEqual(len(self.calls_of(answer)), 1)

    def test_at_most_one_call_streamed(self):
        choices = ["required", "auto"] * 4
        streams = at_once(lambda choice, seed: self.events("/v1/chat/completions", {
            "model": self.model, "messages": [user("Weather in Rome and in Oslo?")],
            "tools": [tool("get_weather", strict=True), tool("get_time", strict=True)],
            "tool_choice": choice, "parallel_tool_calls": False, "max_tokens": 120,
            "temperature": 1, "seed": seed}), choices, range(8))
        for choice, stream in zip(choices, streams):
            _, calls, reasons = rebuilt(stream)
            self.assertLessEqual(len(calls), 1)
            self.assertEqual(len(reasons), 1)
            if choice == "required":
                self.assertEqual(len(calls), 1)
                self.assertEqual(reasons, ["tool_calls"])

    def test_none(self):
        call = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Rome"}}\n</tool_call>'
        answer = self.chat(tools=self.tools, tool_choice="none", max_tokens=40, messages=[
            user("Say exactly: " + call)])
        message = answer["choices"][0]["message"]
        self.assertFalse(message.get("tool_calls"))
        self.assertIn(answer["choices"][0]["finish_reason"], ("stop", "length"))
        # Tools stay in the prompt: a conversation's prefix is the same for every choice.
        auto = self.chat(tools=self.tools, messages=[user("Say exactly: " + call)])
        self.assertEqual(answer["usage"]["prompt_tokens"], auto["usage"]["prompt_tokens"])

    def test_allowed_tools(self):
        for mode in ("required", "auto"):
            choice = {"type": "allowed_tools",
                      "allowed_tools": {"mode": mode, "tools": [named("get_time")]}}
            for answer in at_once(lambda seed: self.chat(
                    tools=self.tools, tool_choice=choice, max_tokens=200, seed=seed, temperature=1,
                    parallel_tool_calls=False), range(4)):
                calls = answer["choices"][0]["message"].get("tool_calls") or []
                names = {call["function"]["name"] for call in calls}
                self.assertLessEqual(names, {"get_time"})
                if mode == "required":
                    self.assertEqual(self.calls_of(answer), ["get_time"])

    def test_unknown_names_are_refused(self):
        body = {"model": self.model, "messages": [user("Hi")], "tools": self.tools, "max_tokens": 4}
        path = "/v1/chat/completions"
        self.refused(path, {**body, "tool_choice": named("nothing")}, "nothing")
        allowed = {"mode": "auto", "tools": [named("nothing")]}
        self.refused(path, {**body, "tool_choice": {"type": "allowed_tools",
                                                    "allowed_tools": allowed}}, "nothing")
        self.refused(path, {**body, "tool_choice": "always"}, "tool_choice")
        self.refused(path, {**body, "tool_choice": 3}, "tool_choice")
        self.refused(path, {**body, "tool_choice": {"type": "function"}}, "function")
        self.refused(path, {**body, "tool_choice": {"type": "custom"}}, "tool_choice")
        for choice in ("required", named("get_time")):
            self.refused(path, {"model": self.model, "messages": [user("Hi")],
                                "tool_choice": choice}, "tool_choice")

    def test_bad_tools_are_refused(self):
        path = "/v1/chat/completions"
        body = {"model": self.model, "messages": [user("Hi")], "max_tokens": 4}
        self.refused(path, {**body, "tools": {}}, "tools")
        self.refused(path, {**body, "tools": [3]}, "tools")
        self.refused(path, {**body, "tools": [{"type": "function"}]}, "function")
        self.refused(path, {**body, "tools": [{"function": {"name": "a"}}]}, "type")
        self.refused(path, {**body, "tools": [{"type": "web_search"}]}, "web_search")
        self.refused(path, {**body, "tools": [tool("")]}, "name")
        self.refused(path, {**body, "tools": [tool("a b")]}, "name")
        self.refused(path, {**body, "tools": [tool("a" * 500)]}, "name")
        self.refused(path, {**body, "tools": [tool("a"), tool("a")]}, "name")
        self.refused(path, {**body, "tools": [tool("a", [])]}, "parameters")
        self.refused(path, {**body, "tools": [tool("a", {"type": "string"})],
                            "tool_choice": "required"}, "parameters")
        self.refused(path, {**body, "tools": [tool(f"t{i}") for i in range(5000)]}, "tools")
        self.refused(path, {**body, "tools": [tool("a", strict="yes")]}, "strict")
        self.refused(path, {**body, "tools": self.tools, "parallel_tool_calls": "no"},
                     "parallel_tool_calls")
        self.refused(path, {**body, "functions": []}, "functions")

    def test_no_tools_at_all(self):
        self.chat(tools=[])
        self.chat(tools=None)
        self.chat(tools=[], tool_choice="auto")
        self.chat(tools=[], tool_choice="none")

    def test_arguments_may_be_undescribed(self):
        for parameters in (None, {}, {"type": "object"}, {"type": "object", "properties": {}},
                           {"properties": {}}):
            for strict in (False, True):
                tools = [tool("stop", parameters, strict=strict), tool("get_time")]
                answer = self.chat(tools=tools, tool_choice=named("stop"), max_tokens=300, seed=1,
                                   parallel_tool_calls=False, temperature=0.7)
                call = answer["choices"][0]["message"]["tool_calls"][0]
                self.assertEqual(call["function"]["name"], "stop")
                if answer["choices"][0]["finish_reason"] == "tool_calls":
                    self.assertIsInstance(json.loads(call["function"]["arguments"]), dict)
                other = self.chat(tools=tools, tool_choice=named("get_time"), max_tokens=200,
                                  parallel_tool_calls=False)
                self.assertEqual(self.calls_of(other), ["get_time"])


class Calls(Case):
    def body(self, **more):
        return {"model": self.model, "messages": [user("The weather in Rome?")],
                "tools": [weather_tool()], "tool_choice": "required", "max_tokens": 120,
                "temperature": 0, **more}

    def test_strict_arguments_satisfy_the_schema(self):
        schema = {"type": "object", "additionalProperties": False,
                  "required": ["place", "days", "kind", "on", "list"],
                  "properties": {"place": {"type": "string", "minLength": 2, "maxLength": 8},
                                 "days": {"type": "integer", "minimum": -3, "maximum": 17},
                                 "kind": {"enum": ["a", "b\u00e4", 3, None]},
                                 "on": {"type": ["boolean", "null"]},
                                 "list": {"type": "array", "minItems": 1, "maxItems": 3,
                                          "items": {"$ref": "#/$defs/unit"}}},
                  "$defs": {"unit": {"enum": ["C", "F"]}}}
        tools = [tool("find", schema, strict=True)]
        for answer in self.posts("/v1/chat/completions", [self.body(
                tools=tools, temperature=1.5, seed=seed, parallel_tool_calls=False,
                max_tokens=400) for seed in range(10)]):
            call = answer["choices"][0]["message"]["tool_calls"][0]
            self.assertEqual(answer["choices"][0]["finish_reason"], "tool_calls")
            arguments = json.loads(call["function"]["arguments"])
            self.assertEqual(json_schema.errors(schema, arguments), [])

    def test_strict_holds_where_the_model_chooses(self):
        for answer in self.posts("/v1/chat/completions", [self.body(
                tools=[weather_tool(strict=True)], tool_choice="auto", seed=seed, temperature=1.5,
                messages=[user("Call get_weather for Rome")]) for seed in range(8)]):
            choice = answer["choices"][0]
            for call in choice["message"].get("tool_calls") or []:
                if choice["finish_reason"] == "tool_calls":
                    arguments = json.loads(call["function"]["arguments"])
                    schema = weather_tool()["function"]["parameters"]
                    self.assertEqual(json_schema.errors(schema, arguments), [])

    def test_stream_is_the_answer_in_pieces(self):
        for seed in range(4):
            body = self.body(seed=seed, temperature=0.8)
            message = self.post("/v1/chat/completions", body)["choices"][0]
            content, calls, reasons = rebuilt(self.events("/v1/chat/completions", body))
            self.assertEqual(content, message["message"]["content"] or "")
            self.assertEqual(reasons, [message["finish_reason"]])
            whole = message["message"]["tool_calls"]
            self.assertEqual([(c["name"], "".join(c["pieces"])) for c in calls],
                             [(c["function"]["name"], c["function"]["arguments"]) for c in whole])
            self.assertGreater(len(calls[0]["pieces"]), 1)

    def test_log_probabilities_beside_streamed_calls(self):
        body = self.body(logprobs=True, top_logprobs=2, parallel_tool_calls=False,
                         stream_options={"include_usage": True})
        tokens, usage = [], None
        for _, data in self.events("/v1/chat/completions", body):
            if data == "[DONE]":
                continue
            usage = data.get("usage") or usage
            for choice in data["choices"]:
                tokens += (choice.get("logprobs") or {}).get("content") or []
        whole = self.post("/v1/chat/completions", {**body, "stream_options": None})
        self.assertEqual(tokens, whole["choices"][0]["logprobs"]["content"])
        self.assertLessEqual(len(tokens), usage["completion_tokens"])
        self.assertGreaterEqual(len(tokens), usage["completion_tokens"] - 1)  # the end has none
        self.assertIn("get_weather", "".join(token["token"] for token in tokens))
        for token in tokens:
            self.assertLessEqual(len(token["top_logprobs"]), 2)
            self.assertEqual(bytes(token["bytes"]).decode("utf-8", "replace"), token["token"])

    def test_usage_counts_forced_tokens(self):
        answer = self.post("/v1/chat/completions", self.body(parallel_tool_calls=False))
        call = answer["choices"][0]["message"]["tool_calls"][0]["function"]
        text = f'<tool_call>\n{{"name": "{call["name"]}", "arguments": {call["arguments"]}}}'
        spelled = self.post("/tokenize", {"content": text})["tokens"]
        self.assertGreaterEqual(answer["usage"]["completion_tokens"], len(spelled) * 0.8)

    def test_calls_are_cut_by_length_and_say_so(self):
        for size in (4, 12, 20, 24):
            for parallel in (True, False):
                answer = self.post("/v1/chat/completions", self.body(
                    max_tokens=size, parallel_tool_calls=parallel))
                self.assertEqual(answer["choices"][0]["finish_reason"], "length", size)
                self.assertEqual(answer["usage"]["completion_tokens"], size)
                self.assertFalse(answer["choices"][0]["message"]["content"], size)

    def test_several_choices(self):
        answer = self.post("/v1/chat/completions", self.body(
            n=3, temperature=1, seed=3, parallel_tool_calls=False))
        ids = set()
        for choice in answer["choices"]:
            self.assertEqual(choice["finish_reason"], "tool_calls")
            ids.add(choice["message"]["tool_calls"][0]["id"])
        self.assertEqual(len(ids), 3)

    def test_same_seed_same_call(self):
        body = self.body(temperature=1.3, seed=11)
        first, second = (self.post("/v1/chat/completions", body)["choices"][0]["message"]
                         for _ in range(2))
        self.assertEqual([call["function"] for call in first["tool_calls"]],
                         [call["function"] for call in second["tool_calls"]])

    def test_a_schema_that_cannot_be_held_to(self):
        odd = {"type": "object", "properties": {"a": {"not": {"type": "string"}}}}
        error = self.refused("/v1/chat/completions",
                             self.body(tools=[tool("a", odd, strict=True)]), "not")
        self.assertIn("tools", error["param"])
        # Not asked to be strict: any object.
        answer = self.post("/v1/chat/completions", self.body(
            tools=[tool("a", odd)], parallel_tool_calls=False, max_tokens=300))
        if answer["choices"][0]["finish_reason"] == "tool_calls":
            call = answer["choices"][0]["message"]["tool_calls"][0]
            self.assertIsInstance(json.loads(call["function"]["arguments"]), dict)

    def test_arguments_are_spaced_as_most_json(self):
        answer = self.post("/v1/chat/completions", self.body(parallel_tool_calls=False))
        text = answer["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"]
        self.assertEqual(text, json.dumps(json.loads(text), ensure_ascii=False))

    def test_with_a_format_the_answer_is_either(self):
        schema = {"type": "object", "properties": {"n": {"type": "integer", "maximum": 99}},
                  "required": ["n"], "additionalProperties": False}
        for answer in self.posts("/v1/chat/completions", [self.body(
                tool_choice="auto", temperature=1.5, seed=seed, parallel_tool_calls=False,
                response_format={"type": "json_schema",
                                 "json_schema": {"name": "n", "schema": schema}})
                for seed in range(6)]):
            choice = answer["choices"][0]
            if choice["finish_reason"] == "length":
                continue
            if choice["message"].get("tool_calls"):
                self.assertEqual(choice["finish_reason"], "tool_calls")
            else:
                value = json.loads(choice["message"]["content"])
                self.assertEqual(json_schema.errors(schema, value), [])


class History(Case):
    def turn(self, *messages, status=200):
        return self.chat(status, messages=[user("Weather in Rome?"), *messages],
                         tools=[weather_tool()])

    def call(self, **more):
        return {"role": "assistant", "content": None, **more, "tool_calls": [
            {"id": "call_1", "type": "function",
             "function": {"name": "get_weather", "arguments": '{"city": "Rome", "unit": "C"}'}}]}

    def result(self, **more):
        return {"role": "tool", "tool_call_id": "call_1", "content": "21 degrees", **more}

    def test_results_go_back(self):
        self.turn(self.call(), self.result())
        self.turn(self.call(content=""), self.result())
        self.turn(self.call(content="Let me see"),
                  self.result(content=[{"type": "text", "text": "21"}]))
        call = self.call()
        del call["content"]
        self.turn(call, self.result(), user("And now?"))

    def test_arguments_of_the_past_need_not_parse(self):
        call = self.call()
        for arguments in ("", "{", "not JSON", "[]", "3", '{"a": NaN}', "null"):
            call["tool_calls"][0]["function"]["arguments"] = arguments
            answer = self.http.post("/v1/chat/completions", json={
                "model": self.model, "messages": [user("Hi"), call, self.result()],
                "tools": [weather_tool()], "max_tokens": 4})
            self.assertIn(answer.status_code, (200, 400), answer.text)
            if answer.status_code == 400:
                self.assertIn("arguments", answer.text)

    def test_results_without_a_call(self):
        path, body = "/v1/chat/completions", {"model": self.model, "max_tokens": 4,
                                              "tools": [weather_tool()]}
        bare = {"role": "tool", "content": "21"}
        self.refused(path, {**body, "messages": [user("Hi"), self.call(), bare]}, "tool_call_id")
        self.refused(path, {**body, "messages": [user("Hi"), self.call(), self.result(
            tool_call_id="other")]}, "tool_call_id")
        self.refused(path, {**body, "messages": [user("Hi"), self.call(), self.result(
            tool_call_id=7)]}, "tool_call_id")
        wrong = self.call()
        del wrong["tool_calls"][0]["id"]
        self.refused(path, {**body, "messages": [user("Hi"), wrong, self.result()]}, "id")
        wrong = self.call()
        del wrong["tool_calls"][0]["function"]["name"]
        self.refused(path, {**body, "messages": [user("Hi"), wrong, self.result()]}, "name")
        self.refused(path, {**body, "messages": [user("Hi"), {"role": "assistant",
                                                              "tool_calls": "x"}]}, "tool_calls")


class WithoutToolsInTheTemplate(unittest.TestCase):
    def test_tools_are_refused_not_dropped(self):
        server = shared_server("--no-request-log", "--threads", "1")
        body = {"messages": [user("Hi")], "max_tokens": 2, "tools": [weather_tool()]}
        with client_of(server) as http:
            reply = http.post("/v1/chat/completions", json=body)
            self.assertEqual(reply.status_code, 400, reply.text)
            self.assertIn("tools", reply.text)
            for tools in ([], None):
                reply = http.post("/v1/chat/completions", json={**body, "tools": tools})
                self.assertEqual(reply.status_code, 200, reply.text)


class OtherDialects(Case):
    def test_responses(self):
        tools = [{"type": "function", "name": name, "parameters": CITY, "strict": True}
                 for name in ("get_weather", "get_time")]
        body = {"model": self.model, "input": "The time in Rome?", "tools": tools,
                "max_output_tokens": 200, "temperature": 1, "parallel_tool_calls": False}
        for name in ("get_weather", "get_time"):
            answer = self.post("/v1/responses", {
                **body, "tool_choice": {"type": "function", "name": name}})
            (call,) = [item for item in answer["output"] if item["type"] == "function_call"]
            self.assertEqual(call["name"], name)
            self.assertEqual(json_schema.errors(CITY, json.loads(call["arguments"])), [])
        self.refused("/v1/responses", {**body, "tool_choice": {"type": "function", "name": "x"}},
                     "tool_choice")
        self.refused("/v1/responses", {**body, "tools": [{**tools[0], "parameters": {
            "type": "object", "properties": {"a": {"not": {}}}}}]}, "not")

    def test_messages(self):
        tools = [{"name": name, "input_schema": CITY} for name in ("get_weather", "get_time")]
        body = {"model": self.model, "messages": [user("The time in Rome?")], "max_tokens": 200,
                "tools": tools}
        for name in ("get_weather", "get_time"):
            answer = self.post("/v1/messages", {**body, "tool_choice": {
                "type": "tool", "name": name, "disable_parallel_tool_use": True}})
            self.assertEqual(answer["stop_reason"], "tool_use")
            (block,) = [b for b in answer["content"] if b["type"] == "tool_use"]
            self.assertEqual(block["name"], name)
            self.assertEqual(json_schema.errors(CITY, block["input"]), [])
        self.post("/v1/messages", {**body, "tool_choice": {"type": "tool", "name": "x"}}, 400)
        answer = self.post("/v1/messages", {**body, "tool_choice": {"type": "any"}})
        self.assertEqual(answer["content"][0]["type"], "tool_use")


if __name__ == "__main__":
    unittest.main()
