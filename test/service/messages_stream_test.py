"""The event streams of /v1/messages: typed blocks, their indices, and that they tell the whole."""

import json
import pathlib
import unittest

import sdk_types
from harness import Case, client_of, shared_server, user, weather_tool
from wire import WireCase

TWO_CALLS = pathlib.Path(__file__).with_name("two_calls.jinja")
# Of a block's type: its deltas, the member that they add to.
DELTAS = {"text": ("text_delta", "text"), "thinking": ("thinking_delta", "thinking"),
          "tool_use": ("input_json_delta", "partial_json")}
def tool(**more):
    function = weather_tool()["function"]
    return {"name": "get_weather", "input_schema": function["parameters"], **more}


def told(case, events):
    """The message that a stream tells, with what is true of every stream checked."""
    case.assertEqual([name for name, _ in events], [data["type"] for _, data in events])
    events = [data for _, data in events if data["type"] != "ping"]
    for data in events:
        sdk_types.check_message_event(case, data)
    case.assertEqual(events[0]["type"], "message_start")
    case.assertEqual([data["type"] for data in events[-2:]], ["message_delta", "message_stop"])
    message = events[0]["message"]
    case.assertEqual(message["content"], [])
    case.assertIsNone(message["stop_reason"])
    case.assertIsNone(message["stop_sequence"])
    is_open = False
    for data in events[1:-2]:
        if data["type"] == "content_block_start":
            case.assertFalse(is_open, "a block starts in another")
            case.assertEqual(data["index"], len(message["content"]))
            block = {**data["content_block"]}
            kind, field = DELTAS[block["type"]]
            case.assertEqual(block["input" if kind == "input_json_delta" else field],
                             {} if kind == "input_json_delta" else "")
            message["content"].append(block)
            is_open, text = True, ""
            continue
        case.assertTrue(is_open, f"{data['type']} outside of a block")
        case.assertEqual(data["index"], len(message["content"]) - 1)
        if data["type"] == "content_block_stop":
            is_open = False
            block["input" if kind == "input_json_delta" else field] = (
                json.loads(text or "{}") if kind == "input_json_delta" else text)
        elif data["delta"]["type"] == "signature_delta":
            case.assertEqual(block["type"], "thinking")
            block["signature"] += data["delta"]["signature"]
        else:
            case.assertEqual(data["type"], "content_block_delta")
            case.assertEqual(data["delta"]["type"], kind)
            case.assertEqual(sorted(data["delta"]), sorted(["type", field]))
            text += data["delta"][field]
    case.assertFalse(is_open)
    message.update(events[-2]["delta"])
    case.assertEqual(message["usage"]["input_tokens"], events[-2]["usage"]["input_tokens"])
    message["usage"].update(events[-2]["usage"])
    return message


def plain(message):
    """Without what differs from answer to answer."""
    blocks = [{name: value for name, value in block.items() if name not in ("id", "signature")}
              for block in message["content"]]
    return [blocks, message["stop_reason"], message["stop_sequence"],
            message["usage"]["output_tokens"]]


class StreamCase(Case):
    def body(self, **fields):
        return {"model": self.model, "max_tokens": 24, "temperature": 0,
                "messages": [user("Name three colours.")], **fields}

    def both(self, **fields):
        streamed = told(self, self.events("/v1/messages", self.body(**fields)))
        whole = self.post("/v1/messages", self.body(**fields))
        sdk_types.check_message(self, whole)
        self.assertEqual(plain(streamed), plain(whole))
        self.assertEqual(sorted(streamed), sorted(whole))
        return streamed


class Streams(StreamCase):
    def test_text(self):
        self.assertEqual(self.both()["content"][0]["type"], "text")
        self.assertEqual(self.both(max_tokens=1)["usage"]["output_tokens"], 1)
        self.assertEqual(self.both(max_tokens=5)["stop_reason"], "max_tokens")

    def test_stop_sequence(self):
        text = self.both()["content"][0]["text"]
        self.assertEqual(self.both(stop_sequences=[text[4:8]])["stop_sequence"], text[4:8])
        # The answer may end inside of what could have become a stop sequence: nothing is lost.
        text = self.both(max_tokens=60)["content"][0]["text"]
        self.assertEqual(self.both(max_tokens=60, stop_sequences=[text[-3:] + "!"])
                         ["content"][0]["text"], text)

    def test_stop_at_once(self):
        text = self.both()["content"][0]["text"]
        message = self.both(stop_sequences=[text[:1]])
        self.assertEqual(message["stop_reason"], "stop_sequence")
        self.assertEqual("".join(block["text"] for block in message["content"]), "")

    def test_call(self):
        message = self.both(tools=[tool()], max_tokens=200,
                            tool_choice={"type": "any", "disable_parallel_tool_use": True})
        self.assertEqual([block["type"] for block in message["content"]], ["tool_use"])
        self.assertIn(message["content"][0]["input"]["unit"], ("C", "F"))

    def test_a_refused_request_is_no_stream(self):
        reply = self.http.post("/v1/messages", json=self.body(
            stream=True, messages=[user("word " * 30000)]))
        self.assertEqual(reply.status_code, 400)
        self.assertEqual(reply.json()["type"], "error")


class Leaving(WireCase, StreamCase):
    def test_a_vanished_reader_frees_its_place(self):
        gone = 'zllm_request_failures_total{kind="client_gone"}'
        before = self.counted(gone)
        body = self.body(stream=True, max_tokens=200, messages=[user("Tell a very long story.")])

        def is_noticed():
            # The story may be told before its reader has left: then it is asked for again.
            with self.http.stream("POST", "/v1/messages", json=body) as reply:
                for line in reply.iter_lines():
                    if "content_block_delta" in line:
                        break
            self.wait_until_idle()
            return self.counted(gone) > before

        self.wait_for(is_noticed)


class SeveralBlocks(StreamCase):
    """Thinking, text and two calls, which the template shows the model."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.http.close()
        cls.server = shared_server("--chat-template-file", str(TWO_CALLS), "--no-request-log",
                                   "--threads", "1")
        cls.http = client_of(cls.server)

    def both(self, **fields):
        return super().both(tools=[tool()], max_tokens=200,
                            messages=[user("Compare Rome and Oslo.")], **fields)

    def test_text_and_two_calls(self):
        message = self.both()
        self.assertEqual([block["type"] for block in message["content"]],
                         ["text", "tool_use", "tool_use"])
        self.assertEqual(message["stop_reason"], "tool_use")
        self.assertNotEqual(message["content"][1]["id"], message["content"][2]["id"])
        self.assertEqual([block["input"]["city"] for block in message["content"][1:]],
                         ["Rome", "Oslo"])

    def test_thinking_text_and_calls(self):
        for thinking in ({"type": "adaptive"}, {"type": "enabled", "budget_tokens": 150}):
            message = self.both(thinking=thinking)
            self.assertEqual([block["type"] for block in message["content"]],
                             ["thinking", "text", "tool_use", "tool_use"])
            self.assertTrue(message["content"][0]["thinking"])
            self.assertTrue(message["content"][0]["signature"])
            self.assertGreater(message["usage"]["output_tokens_details"]["thinking_tokens"], 0)

    def test_a_small_budget_ends_thinking(self):
        message = self.both(thinking={"type": "enabled", "budget_tokens": 3})
        self.assertEqual(message["content"][0]["type"], "thinking")
        self.assertLessEqual(message["usage"]["output_tokens_details"]["thinking_tokens"], 8)
        self.assertGreater(len(message["content"]), 1)

    def test_thinking_may_be_left_out(self):
        message = self.both(thinking={"type": "adaptive", "display": "omitted"})
        self.assertEqual(message["content"][0]["thinking"], "")
        self.assertTrue(message["content"][0]["signature"])

    def test_the_loop_goes_on(self):
        first = self.post("/v1/messages", self.body(
            tools=[tool()], max_tokens=200, messages=[user("Compare Rome and Oslo.")],
            thinking={"type": "adaptive"}))
        results = [{"type": "tool_result", "tool_use_id": block["id"], "content": "21 degrees"}
                   for block in first["content"] if block["type"] == "tool_use"]
        second = self.post("/v1/messages", self.body(
            tools=[tool()], thinking={"type": "adaptive"},
            messages=[user("Compare Rome and Oslo."),
                      {"role": "assistant", "content": first["content"]},
                      {"role": "user", "content": results}]))
        self.assertGreater(second["usage"]["cache_read_input_tokens"], 100)


if __name__ == "__main__":
    unittest.main()
