"""The state behind /v1/responses: chains, storage, background, and what of a request is told back."""

import json
import unittest

import sdk_types
from harness import (ENDLESS_SCHEMA, Case, Server, client_of, parse_events, shared_server, wait_for,
                     weather_tool, write_key_file)


def function_tool(name="get_weather", **more):
    return {"type": "function", **weather_tool()["function"], "name": name, **more}


def text_of(response):
    return "".join(part["text"] for item in response["output"] if item["type"] == "message"
                   for part in item["content"])


class ResponsesCase(Case):
    def create(self, status=200, **fields):
        return self.post("/v1/responses", {"model": self.model, "input": "Name three colours.",
                                           "temperature": 0, "max_output_tokens": 8, **fields},
                         status)

    def fetch(self, name, status=200):
        reply = self.http.get("/v1/responses/" + name)
        self.assertEqual(reply.status_code, status, reply.text)
        return reply.json()

    def settled(self, name):
        wait_for(lambda: self.fetch(name)["status"] not in ("queued", "in_progress"))
        return self.fetch(name)


class Chains(ResponsesCase):
    def test_three_turns(self):
        turns, previous = [], {}
        for line in ("My name is Ada.", "I like tea.", "Who am I?"):
            turns.append(self.create(input=line, **previous))
            previous = {"previous_response_id": turns[-1]["id"]}
        sizes = [turn["usage"]["input_tokens"] for turn in turns]
        self.assertEqual(sizes, sorted(set(sizes)))
        self.assertEqual([turn["previous_response_id"] for turn in turns],
                         [None, turns[0]["id"], turns[1]["id"]])
        by_hand = self.create(input=[
            {"role": "user", "content": "My name is Ada."}, *turns[0]["output"],
            {"role": "user", "content": "I like tea."}, *turns[1]["output"],
            {"role": "user", "content": "Who am I?"}])
        self.assertEqual(text_of(by_hand), text_of(turns[2]))
        self.assertEqual(by_hand["usage"]["input_tokens"], sizes[2])
        self.assertGreater(turns[2]["usage"]["input_tokens_details"]["cached_tokens"], 0)

    def test_instructions_are_not_inherited(self):
        plain = self.create(input="Hi")
        told = self.create(input="Hi", instructions="Answer in French, always and at length.")
        self.assertGreater(told["usage"]["input_tokens"], plain["usage"]["input_tokens"])
        self.assertEqual(told["instructions"], "Answer in French, always and at length.")
        after_plain = self.create(input="Go on", previous_response_id=plain["id"])
        after_told = self.create(input="Go on", previous_response_id=told["id"])
        besides = [after["usage"]["input_tokens"]
                   - len(self.post("/tokenize", {"content": text_of(before)})["tokens"])
                   for before, after in ((plain, after_plain), (told, after_told))]
        self.assertEqual(besides[0], besides[1])
        self.assertIsNone(after_told["instructions"])

    def test_unknown_previous(self):
        error = self.create(400, previous_response_id="resp_nobody")["error"]
        self.assertEqual(error["param"], "previous_response_id")
        self.assertEqual(error["code"], "previous_response_not_found")
        self.assertEqual(error["type"], "invalid_request_error")
        self.assertIn("resp_nobody", error["message"])

    def test_deleted(self):
        first = self.create()
        reply = self.http.delete("/v1/responses/" + first["id"])
        self.assertEqual((reply.status_code, reply.json()),
                         (200, {"id": first["id"], "object": "response", "deleted": True}))
        self.assertEqual(self.fetch(first["id"], 404)["error"]["type"], "invalid_request_error")
        self.assertEqual(self.http.delete("/v1/responses/" + first["id"]).status_code, 404)
        self.create(400, previous_response_id=first["id"])
        for path in ("/input_items", "?include[]=message.output_text.logprobs"):
            self.fetch(first["id"] + path, 404)

    def test_not_stored(self):
        first = self.create(store=False)
        self.assertIs(first["store"], False)
        self.fetch(first["id"], 404)
        self.fetch(first["id"] + "/input_items", 404)
        self.create(400, previous_response_id=first["id"])

    def test_output_of_an_unknown_call(self):
        first = self.create()
        error = self.create(400, previous_response_id=first["id"], input=[
            {"type": "function_call_output", "call_id": "call_nobody", "output": "x"}])["error"]
        self.assertIn("call_nobody", error["message"])
        self.assertEqual(error["param"], "input[0].call_id")

    def test_a_response_is_its_callers_own(self):
        keys = write_key_file("first-secret-key", "second-secret-key")
        server = Server("--api-key-file", keys, "--threads", "1", "--no-request-log", wait=False)
        self.addCleanup(server.kill)
        server.wait_until_ready()
        own, other = ({"Authorization": f"Bearer {key}-secret-key"} for key in ("first", "second"))
        url = "/v1/responses"
        http = client_of(server)
        self.addCleanup(http.close)
        body = {"input": "Hi", "max_output_tokens": 4}
        first = http.post(url, json=body, headers=own).json()
        self.assertEqual(http.get(f"{url}/{first['id']}", headers=own).status_code, 200)
        for method, path in (("GET", ""), ("GET", "/input_items"), ("POST", "/cancel"),
                             ("DELETE", "")):
            reply = http.request(method, f"{url}/{first['id']}{path}", headers=other)
            self.assertEqual(reply.status_code, 404, f"{method} {path}: {reply.text}")
        reply = http.post(url, json={**body, "previous_response_id": first["id"]}, headers=other)
        self.assertEqual(reply.status_code, 400)
        reply = http.post(url, json={**body, "input": [
            {"type": "item_reference", "id": first["output"][0]["id"]}]}, headers=other)
        self.assertEqual(reply.status_code, 404)
        self.assertEqual(http.get(f"{url}/{first['id']}", headers=own).json(), first)


class Storage(ResponsesCase):
    def test_the_oldest_go_first(self):
        server = shared_server("--max-stored-responses", "3", "--no-request-log", "--threads", "1")
        with client_of(server) as http:
            ids = [http.post("/v1/responses", json={"input": str(i), "max_output_tokens": 2})
                   .json()["id"] for i in range(5)]
            found = [http.get(f"/v1/responses/{name}").status_code for name in ids]
        self.assertEqual(found, [404, 404, 200, 200, 200])

    def test_input_items(self):
        items = [{"role": "user", "content": "one"},
                 {"type": "message", "role": "assistant",
                  "content": [{"type": "output_text", "text": "two", "annotations": []}]},
                 {"type": "message", "role": "user", "id": "msg_mine",
                  "content": [{"type": "input_text", "text": "three"}]}]
        name = self.create(input=items)["id"]
        page = self.fetch(name + "/input_items")
        self.assertEqual(page["object"], "list")
        self.assertIs(page["has_more"], False)
        texts = [item["content"][0]["text"] for item in page["data"]]
        self.assertEqual(texts, ["three", "two", "one"])  # the newest first unless asked otherwise
        self.assertEqual(page["data"][0]["id"], "msg_mine")
        self.assertEqual({item["type"] for item in page["data"]}, {"message"})
        ids = [item["id"] for item in page["data"]]
        self.assertEqual(len(set(ids)), 3)
        self.assertEqual((page["first_id"], page["last_id"]), (ids[0], ids[-1]))
        rising = self.fetch(name + "/input_items?order=asc")
        self.assertEqual([item["id"] for item in rising["data"]], ids[::-1])
        first = self.fetch(name + "/input_items?order=asc&limit=2")
        self.assertIs(first["has_more"], True)
        self.assertEqual([item["id"] for item in first["data"]], ids[:0:-1])
        rest = self.fetch(name + f"/input_items?order=asc&limit=2&after={first['last_id']}")
        self.assertIs(rest["has_more"], False)
        self.assertEqual([item["id"] for item in rest["data"]], [ids[0]])
        empty = self.fetch(name + f"/input_items?order=asc&after={ids[0]}")
        self.assertEqual((empty["data"], empty["has_more"]), ([], False))

    def test_input_items_refuse(self):
        name = self.create()["id"]
        for query, field in (("limit=0", "limit"), ("limit=101", "limit"), ("limit=x", "limit"),
                             ("order=up", "order"), ("after=nobody", "after"),
                             ("colour=red", "colour")):
            error = self.fetch(f"{name}/input_items?{query}", 400)["error"]
            self.assertIn(field, f"{error['param']} {error['message']}")

    def test_references(self):
        first = self.create()
        second = self.create(input=[
            {"role": "user", "content": "Name three colours."},
            {"type": "item_reference", "id": first["output"][0]["id"]},
            {"role": "user", "content": "And?"}])
        third = self.create(input="And?", previous_response_id=first["id"])
        self.assertEqual(text_of(second), text_of(third))
        error = self.create(404, input=[{"type": "item_reference", "id": "msg_nobody_0"}])["error"]
        self.assertEqual(error["param"], "input[0].id")


class Background(ResponsesCase):
    LONG = {"background": True, "max_output_tokens": 7000, "text": {"format": {
        "type": "json_schema", "name": "numbers", "schema": ENDLESS_SCHEMA, "strict": True}}}

    def cancel(self, name, status=200):
        reply = self.http.post(f"/v1/responses/{name}/cancel")
        self.assertEqual(reply.status_code, status, reply.text)
        return reply.json()

    def test_runs_to_its_end(self):
        first = self.create(background=True)
        self.assertIn(first["status"], ("queued", "in_progress"))
        self.assertIs(first["background"], True)
        self.assertEqual(first["output"], [])
        self.assertIsNone(first["usage"])
        done = self.settled(first["id"])
        self.assertIn(done["status"], ("completed", "incomplete"))
        self.assertEqual(text_of(done), text_of(self.create()))
        self.assertEqual(done["created_at"], first["created_at"])
        self.cancel(first["id"], 400)
        self.assertEqual(self.fetch(first["id"]), done)

    def test_cancel(self):
        first = self.create(**self.LONG)
        self.assertEqual(self.cancel(first["id"])["status"], "cancelled")
        # From then on it is cancelled for everybody, however often one asks.
        self.assertEqual(self.fetch(first["id"])["status"], "cancelled")
        self.assertEqual(self.cancel(first["id"])["status"], "cancelled")
        for _ in range(20):
            self.assertEqual(self.fetch(first["id"])["status"], "cancelled")

    def test_cancel_while_it_answers(self):
        first = self.create(**self.LONG)
        wait_for(lambda: self.fetch(first["id"])["status"] != "queued")
        self.assertEqual(self.cancel(first["id"])["status"], "cancelled")
        self.assertEqual(self.fetch(first["id"])["status"], "cancelled")

    def test_only_background_responses_are_cancelled(self):
        first = self.create()
        error = self.cancel(first["id"], 400)["error"]
        self.assertEqual(error["type"], "invalid_request_error")
        self.cancel("resp_nobody", 404)

    def test_delete_while_it_runs(self):
        first = self.create(**self.LONG)
        self.assertEqual(self.http.delete("/v1/responses/" + first["id"]).status_code, 200)
        self.fetch(first["id"], 404)
        self.create(max_output_tokens=2)
        self.fetch(first["id"], 404)

    def test_unfinished_cannot_be_continued(self):
        first = self.create(**self.LONG)
        error = self.create(400, previous_response_id=first["id"])["error"]
        self.assertEqual(error["param"], "previous_response_id")
        self.cancel(first["id"])

    def test_needs_the_store(self):
        self.assertEqual(self.create(400, background=True, store=False)["error"]["param"],
                         "background")

    def test_failure_is_told_on_asking(self):
        reply = self.http.post("/v1/responses", json={"model": self.model, "background": True,
                                                      "input": "word " * 30000})
        if reply.status_code == 200:
            done = self.settled(reply.json()["id"])
            self.assertEqual(done["status"], "failed")
            self.assertTrue(done["error"]["code"])
            self.assertTrue(done["error"]["message"])
        else:
            self.assertEqual(reply.status_code, 400)

    def test_a_streamed_one_runs_on_without_its_reader(self):
        body = {"model": self.model, "input": "Name three colours.", "temperature": 0,
                "max_output_tokens": 60, "background": True}
        whole = self.events("/v1/responses", body)
        self.assertEqual([name for name, _ in whole[:3]],
                         ["response.created", "response.queued", "response.in_progress"])
        self.assertEqual([data["sequence_number"] for _, data in whole], list(range(len(whole))))
        self.assertEqual(self.fetch(whole[-1][1]["response"]["id"]), whole[-1][1]["response"])
        with self.http.stream("POST", "/v1/responses", json={**body, "stream": True}) as reply:
            for line in reply.iter_lines():
                if line.startswith("data:"):
                    name = json.loads(line[5:])["response"]["id"]
                    break
        # Who comes back reads on while it runs, and all of it later.
        rest = self.replay(name, "stream=true&starting_after=1")
        self.assertEqual([data["sequence_number"] for _, data in rest],
                         list(range(2, 2 + len(rest))))
        done = self.settled(name)
        self.assertEqual(done["status"], whole[-1][1]["response"]["status"])
        self.assertEqual(text_of(done), text_of(whole[-1][1]["response"]))
        self.assertEqual(rest[-1][1]["response"], done)
        again = self.replay(name, "stream=true&include_obfuscation=false")
        self.assertEqual(again[2:], rest)
        self.assertEqual([event for event, _ in again], [event for event, _ in whole])
        self.assertEqual(self.replay(name, "stream=true&starting_after=9999"), [])

    def replay(self, name, query):
        with self.http.stream("GET", f"/v1/responses/{name}?{query}") as reply:
            self.assertEqual(reply.status_code, 200)
            return parse_events("".join(reply.iter_text()))

    def test_only_streams_are_told_again(self):
        name = self.create(max_output_tokens=2)["id"]
        for query, field in (("stream=true", "stream"), ("starting_after=1", "starting_after"),
                             ("include_obfuscation=true", "include_obfuscation")):
            self.assertEqual(self.fetch(f"{name}?{query}", 400)["error"]["param"], field)

    def test_a_vanished_reader_leaves_no_running_response(self):
        with self.http.stream("POST", "/v1/responses", json={
                **self.LONG, "model": self.model, "input": "Count.", "stream": True,
                "background": False}) as reply:
            for line in reply.iter_lines():
                if line.startswith("data:"):
                    name = json.loads(line[5:])["response"]["id"]
                    break
        self.assertEqual(self.settled(name)["status"], "cancelled")


class Echo(ResponsesCase):
    def test_settings_are_told_back(self):
        fields = {"temperature": 0.5, "top_p": 0.25, "max_output_tokens": 7, "max_tool_calls": 3,
                  "metadata": {"job": "7", "who": "Ada"}, "parallel_tool_calls": False,
                  "tool_choice": "none", "user": "ada", "safety_identifier": "s1",
                  "prompt_cache_key": "k1", "truncation": "disabled", "service_tier": "auto",
                  "instructions": "Be brief.", "store": True,
                  "text": {"format": {"type": "text"}}, "reasoning": {"effort": "low"}}
        answer = self.create(**fields, tools=[function_tool()])
        for name, value in fields.items():
            if name not in ("service_tier", "text", "reasoning"):
                self.assertEqual(answer[name], value, name)
        self.assertEqual(answer["service_tier"], "default")
        self.assertEqual(answer["text"]["format"], {"type": "text"})
        self.assertEqual(answer["reasoning"]["effort"], "low")
        self.assertEqual(answer["tools"][0]["parameters"], function_tool()["parameters"])
        self.assertEqual(answer["tools"][0]["strict"], True)
        self.assertEqual(answer["model"], self.model)
        self.assertEqual(self.fetch(answer["id"]), answer)
        sdk_types.check_response(self, answer)

    def test_defaults(self):
        answer = self.post("/v1/responses", {"input": "Hi", "max_output_tokens": 2})
        for name, value in {"object": "response", "error": None, "instructions": None,
                            "metadata": {}, "parallel_tool_calls": True, "temperature": 1,
                            "top_p": 1, "tool_choice": "auto", "tools": [], "background": False,
                            "previous_response_id": None, "truncation": "disabled",
                            "store": True}.items():
            self.assertEqual(answer[name], value, name)
        usage = answer["usage"]
        self.assertEqual(usage["total_tokens"], usage["input_tokens"] + usage["output_tokens"])
        self.assertIn("cached_tokens", usage["input_tokens_details"])
        self.assertIn("reasoning_tokens", usage["output_tokens_details"])

    def test_tool_choices(self):
        tools = [function_tool("first"), function_tool("second")]
        for choice in ({"type": "function", "name": "second"},
                       {"type": "allowed_tools", "mode": "required",
                        "tools": [{"type": "function", "name": "second"}]}):
            answer = self.create(tools=tools, tool_choice=choice, max_output_tokens=200,
                                 parallel_tool_calls=False)
            calls = [item for item in answer["output"] if item["type"] == "function_call"]
            self.assertEqual([call["name"] for call in calls], ["second"])
            self.assertEqual(answer["tool_choice"], choice)
            self.assertIn("city", json.loads(calls[0]["arguments"]))
        none = self.create(tools=tools, tool_choice="none")
        self.assertEqual({item["type"] for item in none["output"]}, {"message"})

    def test_structured_output(self):
        form = {"type": "json_schema", "name": "pair", "strict": True, "schema": {
            "type": "object", "additionalProperties": False, "required": ["a", "b"],
            "properties": {"a": {"type": "integer", "minimum": 0, "maximum": 9},
                           "b": {"enum": ["x", "y"]}}}}
        answer = self.create(max_output_tokens=40, text={"format": form})
        pair = json.loads(text_of(answer))
        self.assertIn(pair["a"], range(10))
        self.assertIn(pair["b"], ("x", "y"))
        self.assertEqual(answer["text"]["format"]["schema"], form["schema"])
        whole = self.create(max_output_tokens=60, text={"format": {"type": "json_object"}},
                            input="An object with one short member, as JSON.")
        self.assertTrue(text_of(whole).lstrip().startswith("{"))
        if whole["status"] == "completed":
            json.loads(text_of(whole))


class Requests(ResponsesCase):
    def test_input_tokens_are_counted(self):
        body = {"model": self.model, "input": "Name three colours.", "instructions": "Be brief.",
                "tools": [function_tool()]}
        counted = self.post("/v1/responses/input_tokens", body)
        self.assertEqual(counted, {"object": "response.input_tokens",
                                   "input_tokens": self.create(**body)["usage"]["input_tokens"]})
        self.post("/v1/responses/input_tokens", {**body, "colour": 1}, 400)

    def test_null_is_absent(self):
        item = {"role": "user", "content": "Name three colours.", "colour": None, "id": None}
        self.assertEqual(text_of(self.create(input=[item], colour=None, tools=None, text=None,
                                             reasoning=None, stream=None, store=None)),
                         text_of(self.create()))

    def test_as_codex_sends_them(self):
        shell = {"type": "function", "name": "shell", "description": "Runs a command",
                 "strict": False, "parameters": {
                     "type": "object", "additionalProperties": False, "required": ["command"],
                     "properties": {"command": {"type": "array", "items": {"type": "string"}},
                                    "workdir": {"type": "string"}, "timeout_ms": {"type": "number"}}}}
        body = {"model": self.model, "instructions": "You are a coding agent.",
                "input": [
                    {"type": "message", "role": "developer",
                     "content": [{"type": "input_text", "text": "<permissions>none</permissions>"}]},
                    {"type": "message", "role": "user",
                     "content": [{"type": "input_text", "text": "<environment>linux</environment>"},
                                 {"type": "input_text", "text": "second part"}]},
                    {"type": "message", "role": "user",
                     "content": [{"type": "input_text", "text": "List the files."}]},
                    {"type": "reasoning", "summary": [], "content": None, "encrypted_content": None},
                    {"type": "function_call", "name": "shell", "call_id": "call_1",
                     "arguments": "{\"command\":[\"ls\"]}"},
                    {"type": "function_call_output", "call_id": "call_1", "output": "a.txt"}],
                "tools": [shell], "tool_choice": "auto", "parallel_tool_calls": False,
                "reasoning": {"effort": "medium", "summary": "auto"}, "store": False, "stream": True,
                "include": ["reasoning.encrypted_content"], "prompt_cache_key": "0198-session",
                "text": {"verbosity": "medium"}, "client_metadata": {"installation": "1"},
                "max_output_tokens": 16}
        events = [data for _, data in self.events("/v1/responses", body)]
        self.assertEqual(events[0]["type"], "response.created")
        self.assertIn(events[-1]["type"], ("response.completed", "response.incomplete"))

    def test_guidance_is_one_system_message(self):
        items = [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
        told = self.create(instructions="Be kind.", input=items)
        by_hand = self.create(instructions="Be kind.\n\nBe brief.", input="Hi")
        self.assertEqual(told["usage"]["input_tokens"], by_hand["usage"]["input_tokens"])
        self.assertEqual(text_of(told), text_of(by_hand))

    def test_refusals_name_the_field(self):
        call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
        for fields, field in (
                ({"conversation": "conv_1"}, "conversation"), ({"prompt": {"id": "p"}}, "prompt"),
                ({"truncation": "some"}, "truncation"), ({"n": 2}, "n"), ({"colour": 1}, "colour"),
                ({"temperature": 3}, "temperature"), ({"temperature": "hot"}, "temperature"),
                ({"top_p": 2}, "top_p"), ({"top_logprobs": 21}, "top_logprobs"),
                ({"max_output_tokens": 0}, "max_output_tokens"),
                ({"max_output_tokens": 1.5}, "max_output_tokens"),
                ({"input": []}, "input"), ({"input": None}, "input"), ({"input": 7}, "input"),
                ({"input": [7]}, "input[0]"), ({"input": [{"role": "user"}]}, "input[0].content"),
                ({"input": [{"role": "tool", "content": "x"}]}, "input[0].role"),
                ({"input": [{"type": "web_search_call", "id": "w"}]}, "input[0].type"),
                ({"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}]},
                 "input[0].content[0]"),
                ({"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "x"}]}]},
                 "input[0].content[0]"),
                ({"input": [{"role": "user", "content": "x", "colour": 1}]}, "input[0].colour"),
                ({"input": [{**call, "arguments": None}]}, "input[0].arguments"),
                ({"tools": [{"type": "web_search"}]}, "tools[0].type"),
                ({"tools": [{"type": "file_search", "vector_store_ids": []}]}, "tools[0].type"),
                ({"tools": [{"type": "function"}]}, "tools[0].name"),
                ({"tools": [{"type": "custom", "name": "c", "format": {
                    "type": "grammar", "syntax": "lark", "definition": 'start: "x" start?'}}]},
                 "tools[0].format.definition"),
                ({"tools": [function_tool("a b")]}, "tools[0].name"),
                ({"tools": [function_tool(), function_tool()]}, "tools[1].name"),
                ({"tool_choice": "required"}, "tool_choice"),
                ({"tool_choice": {"type": "function", "name": "g"}}, "tool_choice"),
                ({"include": ["file_search_call.results"]}, "include"), ({"include": ["x"]}, "include"),
                ({"metadata": {"a": 1}}, "metadata"), ({"metadata": {"k" * 65: "x"}}, "metadata"),
                ({"metadata": {str(i): "" for i in range(17)}}, "metadata"),
                ({"text": {"format": {"type": "xml"}}}, "text.format.type"),
                ({"text": {"format": {"type": "json_schema", "name": "x"}}}, "text.format.schema"),
                ({"text": {"format": {"type": "json_schema", "name": "x",
                                      "schema": {"type": "objekt"}}}}, "text.format"),
                ({"reasoning": {"effort": "huge"}}, "reasoning.effort"),
                ({"service_tier": "flex"}, "service_tier"), ({"stream": "yes"}, "stream"),
                ({"stream_options": {"include_obfuscation": True}, "stream": True},
                 "include_obfuscation"),
                ({"messages": []}, "'messages'"), ({"max_tokens": 3}, "'max_tokens'"),
                ({"model": 7}, "model"), ({"instructions": 7}, "instructions")):
            with self.subTest(fields=str(fields)[:90]):
                error = self.create(400, **fields)["error"]
                self.assertEqual(sorted(error), ["code", "message", "param", "type"])
                self.assertEqual(error["type"], "invalid_request_error")
                self.assertIn(field, f"{error['param']} {error['message']}")
                if error["code"] is not None:
                    self.assertIn(error["param"], error["message"])

    def test_unknown_model(self):
        error = self.create(404, model="nobody")["error"]
        self.assertEqual((error["code"], error["param"]), ("model_not_found", "model"))


if __name__ == "__main__":
    unittest.main()
