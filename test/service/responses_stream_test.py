"""The event streams of /v1/responses: ids, order, numbers and texts."""

import collections
import pathlib
import unittest

import sdk_types
from harness import Case, client_of, shared_server, weather_tool

TWO_CALLS = pathlib.Path(__file__).with_name("two_calls.jinja")
TERMINAL = ("response.completed", "response.incomplete", "response.failed")
# Of an item's kind: the events of its text, and the member of a "done" event that holds it.
TEXTS = {"message": ("response.output_text", "text"),
         "reasoning": ("response.reasoning_text", "text"),
         "function_call": ("response.function_call_arguments", "arguments"),
         "custom_tool_call": ("response.custom_tool_call_input", "input")}


def function_tool(**more):
    return {"type": "function", **weather_tool()["function"], **more}


class Stream:
    """All events of a stream, and what is true of every such stream."""

    def __init__(self, case, events):
        self.events = [data for _, data in events]
        for data in self.events:
            sdk_types.check_response_event(case, data)
        case.assertEqual([name for name, _ in events], [data["type"] for data in self.events])
        case.assertEqual([data["sequence_number"] for data in self.events],
                         list(range(len(events))))
        case.assertEqual([data["type"] for data in self.events[:2]],
                         ["response.created", "response.in_progress"])
        ends = [data for data in self.events if data["type"] in TERMINAL]
        case.assertEqual(len(ends), 1)
        case.assertIs(ends[0], self.events[-1])
        self.final = ends[0]["response"]
        case.assertEqual(self.final["status"], ends[0]["type"].split(".")[1])
        first = self.events[0]["response"]
        case.assertEqual(first["status"], "in_progress")
        case.assertEqual(first["output"], [])
        case.assertIsNone(first["usage"])
        case.assertEqual({data["response"]["id"] for data in self.events if "response" in data},
                         {self.final["id"]})
        for index, item in enumerate(self.final["output"]):
            self.check_item(case, index, item)
        case.assertLessEqual({data["output_index"] for data in self.events
                              if "output_index" in data}, set(range(len(self.final["output"]))))

    def check_item(self, case, index, item):
        own = [data for data in self.events if data.get("output_index") == index]
        kind, field = TEXTS[item["type"]]
        added, done = own[0], own[-1]
        case.assertEqual(added["type"], "response.output_item.added")
        case.assertEqual(added["item"]["id"], item["id"])
        case.assertEqual(added["item"]["type"], item["type"])
        case.assertEqual(added["item"]["status"], "in_progress")
        case.assertEqual(done["type"], "response.output_item.done")
        case.assertEqual(done["item"], item)
        for data in own[1:-1]:
            case.assertEqual(data["item_id"], item["id"])
            case.assertEqual(data.get("content_index", 0), 0)
        text = "".join(data["delta"] for data in own if data["type"] == kind + ".delta")
        whole = [data[field] for data in own if data["type"] == kind + ".done"]
        case.assertEqual(whole, [text])
        middle = [data["type"] for data in own[1:-1] if not data["type"].endswith(".delta")]
        if "call_id" in item:
            case.assertEqual(middle, [kind + ".done"])
            case.assertEqual(item[field], text)
            case.assertEqual(added["item"][field], "")
            case.assertEqual(added["item"]["call_id"], item["call_id"])
            case.assertEqual(added["item"]["name"], item["name"])
        else:
            case.assertEqual(middle, ["response.content_part.added", kind + ".done",
                                      "response.content_part.done"])
            case.assertEqual(own[1]["part"]["text"], "")
            case.assertEqual(own[-2]["part"], item["content"][0])
            case.assertEqual(item["content"][0]["text"], text)
            case.assertEqual(added["item"]["content"], [])

    def item(self, kind):
        return next(item for item in self.final["output"] if item["type"] == kind)


class Streams(Case):
    def stream(self, **fields):
        body = {"model": self.model, "input": "Name three colours.", "temperature": 0,
                "max_output_tokens": 24, **fields}
        return Stream(self, self.events("/v1/responses", body))

    def whole(self, **fields):
        return self.post("/v1/responses", {"model": self.model, "input": "Name three colours.",
                                           "temperature": 0, "max_output_tokens": 24, **fields})

    def test_text(self):
        stream, whole = self.stream(), self.whole()
        self.assertEqual(stream.final["output"][0]["content"], whole["output"][0]["content"])
        self.assertEqual(stream.final["status"], whole["status"])
        self.assertEqual(stream.final["usage"]["output_tokens"], whole["usage"]["output_tokens"])
        self.assertEqual(sorted(stream.final), sorted(whole))

    def test_the_stored_response_is_the_completed_one(self):
        final = self.stream().final
        self.assertEqual(self.http.get("/v1/responses/" + final["id"]).json(), final)

    def test_cut_answer_is_incomplete(self):
        final = self.stream(max_output_tokens=3, input="Tell a long story.").final
        self.assertEqual(final["status"], "incomplete")
        self.assertEqual(final["incomplete_details"], {"reason": "max_output_tokens"})
        self.assertEqual(final["output"][0]["status"], "incomplete")
        self.assertIsNone(final["error"])
        self.assertEqual(final["usage"]["output_tokens"], 3)

    def test_one_token(self):
        stream, whole = self.stream(max_output_tokens=1), self.whole(max_output_tokens=1)
        self.assertEqual(stream.final["usage"]["output_tokens"], 1)
        self.assertEqual(stream.final["output"][0]["content"], whole["output"][0]["content"])

    def test_log_probabilities(self):
        stream = self.stream(include=["message.output_text.logprobs"], top_logprobs=2)
        part = stream.item("message")["content"][0]
        self.assertEqual("".join(token["token"] for token in part["logprobs"]), part["text"])
        self.assertTrue(all(len(token["top_logprobs"]) == 2 for token in part["logprobs"]))
        told = [token for data in stream.events if data["type"] == "response.output_text.delta"
                for token in data["logprobs"]]
        self.assertEqual(told, part["logprobs"][:len(told)])
        whole = self.whole(include=["message.output_text.logprobs"], top_logprobs=2)
        self.assertEqual(whole["output"][0]["content"], stream.final["output"][0]["content"])

    def test_required_call(self):
        stream = self.stream(tools=[function_tool()], tool_choice="required", max_output_tokens=200,
                             parallel_tool_calls=False)
        self.assertEqual([item["type"] for item in stream.final["output"]], ["function_call"])
        self.assertEqual(stream.final["status"], "completed")

    def test_cut_call_is_incomplete(self):
        final = self.stream(tools=[function_tool()], tool_choice="required",
                            max_output_tokens=12).final
        self.assertEqual(final["status"], "incomplete")

    def test_custom_call(self):
        definition = '^"[ab]{2}\n[0-9]{3}"$'
        tool = {"type": "custom", "name": "pick", "format": {
            "type": "grammar", "syntax": "regex", "definition": definition}}
        fields = {"tools": [tool, function_tool()], "tool_choice": {"type": "custom", "name": "pick"},
                  "max_output_tokens": 100, "parallel_tool_calls": False}
        stream, whole = self.stream(**fields), self.whole(**fields)
        call = stream.item("custom_tool_call")
        self.assertRegex(call["input"], definition)
        self.assertEqual(whole["output"][0]["input"], call["input"])
        self.assertEqual(stream.final["tools"][0], {"description": None, **tool})
        result = {"type": "custom_tool_call_output", "call_id": call["call_id"], "output": "done"}
        more = {"tools": [tool], "tool_choice": "none"}
        second = self.whole(**more, previous_response_id=stream.final["id"], input=[result])
        by_hand = self.whole(**more, input=[{"role": "user", "content": "Name three colours."},
                                            call, result])
        self.assertEqual(by_hand["usage"]["input_tokens"], second["usage"]["input_tokens"])

    def test_custom_call_by_a_lark_grammar(self):
        definition = ('start: line (LF line)~1\nline: KEY ": " (INT | quoted)\n'
                      'quoted: "\\"" /[a-c]{1,3}/ "\\""\nKEY: "x".."z"\n'
                      '%import common (LF, INT -> ANY)\nINT: "0".."9" ~ 2\n')
        tool = {"type": "custom", "name": "pick", "format": {
            "type": "grammar", "syntax": "lark", "definition": definition}}
        fields = {"tools": [tool], "tool_choice": {"type": "custom", "name": "pick"},
                  "max_output_tokens": 100, "parallel_tool_calls": False}
        stream, whole = self.stream(**fields), self.whole(**fields)
        call = stream.item("custom_tool_call")
        line = '[x-z]: ([0-9]{2}|"[a-c]{1,3}")'
        self.assertRegex(call["input"], f"^{line}\n{line}$")
        self.assertEqual(whole["output"][0]["input"], call["input"])
        self.assertEqual(stream.final["tools"][0], {"description": None, **tool})

    def test_a_refused_request_is_no_stream(self):
        error = self.post("/v1/responses", {"model": self.model, "stream": True, "input": "x " * 30000},
                          400)["error"]
        self.assertEqual(error["type"], "invalid_request_error")


class SeveralItems(Case):
    """Text and two calls, which the template shows the model."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.http.close()
        cls.server = shared_server("--chat-template-file", str(TWO_CALLS), "--no-request-log",
                                   "--threads", "1")
        cls.http = client_of(cls.server)

    def body(self, **fields):
        return {"model": self.model, "input": "Compare Rome and Oslo.", "temperature": 0,
                "max_output_tokens": 200, "tools": [function_tool(strict=False)], **fields}

    def test_text_and_two_calls(self):
        stream = Stream(self, self.events("/v1/responses", self.body()))
        output = stream.final["output"]
        self.assertEqual([item["type"] for item in output],
                         ["message", "function_call", "function_call"])
        ids = collections.Counter(item["id"] for item in output)
        self.assertEqual(set(ids.values()), {1})
        self.assertNotEqual(output[1]["call_id"], output[2]["call_id"])
        whole = self.post("/v1/responses", self.body())["output"]
        self.assertEqual([self.plain(item) for item in whole],
                         [self.plain(item) for item in output])

    def test_reasoning_text_and_calls(self):
        stream = Stream(self, self.events("/v1/responses", self.body(reasoning={"effort": "high"})))
        self.assertEqual([item["type"] for item in stream.final["output"]],
                         ["reasoning", "message", "function_call", "function_call"])
        self.assertGreater(stream.final["usage"]["output_tokens_details"]["reasoning_tokens"], 0)
        self.assertEqual(stream.item("reasoning")["summary"], [])
        self.assertIsNone(stream.item("reasoning")["encrypted_content"])

    def test_log_probabilities_are_of_the_message_alone(self):
        stream = Stream(self, self.events("/v1/responses", self.body(
            reasoning={"effort": "high"}, include=["message.output_text.logprobs"])))
        part = stream.item("message")["content"][0]
        told = [token for data in stream.events if data["type"] == "response.output_text.delta"
                for token in data["logprobs"]]
        self.assertEqual(told, part["logprobs"])
        # The last one may hold the line's end before the calls too.
        self.assertEqual("".join(token["token"] for token in told).rstrip(), part["text"].rstrip())

    def test_packed_reasoning_stands_for_its_text(self):
        fields = {"reasoning": {"effort": "high"}, "include": ["reasoning.encrypted_content"],
                  "store": False}
        stream = Stream(self, self.events("/v1/responses", self.body(**fields)))
        thought = stream.item("reasoning")
        counts = []
        for own in ({"content": thought["content"]},
                    {"encrypted_content": thought["encrypted_content"]}, {}):
            counts.append(self.post("/v1/responses/input_tokens", self.body(
                reasoning={"effort": "high"}, input=[
                    {"role": "user", "content": "x"}, {"type": "reasoning", "summary": [], **own},
                    {"role": "assistant", "content": "y"}, {"role": "user", "content": "z"}]))
                ["input_tokens"])
        self.assertEqual(counts[0], counts[1])
        self.assertGreater(counts[0], counts[2])

    def test_effort_none_does_not_reason(self):
        stream = Stream(self, self.events("/v1/responses", self.body(reasoning={"effort": "none"})))
        self.assertNotIn("reasoning", [item["type"] for item in stream.final["output"]])

    def test_calls_go_back_by_id(self):
        first = self.post("/v1/responses", self.body())
        calls = [item for item in first["output"] if item["type"] == "function_call"]
        outputs = [{"type": "function_call_output", "call_id": call["call_id"], "output": "21"}
                   for call in reversed(calls)]
        second = self.post("/v1/responses", self.body(input=outputs, tool_choice="none",
                                                      previous_response_id=first["id"]))
        self.assertGreater(second["usage"]["input_tokens"], first["usage"]["input_tokens"])
        # The same by hand: all items of before go back with the outputs.
        items = [{"role": "user", "content": "Compare Rome and Oslo."}, *first["output"], *outputs]
        by_hand = self.post("/v1/responses", self.body(input=items, tool_choice="none"))
        self.assertEqual(by_hand["usage"]["input_tokens"], second["usage"]["input_tokens"])
        self.assertEqual([self.plain(item) for item in by_hand["output"]],
                         [self.plain(item) for item in second["output"]])

    @staticmethod
    def plain(item):
        return {name: value for name, value in item.items() if name not in ("id", "call_id")}


if __name__ == "__main__":
    unittest.main()
