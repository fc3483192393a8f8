"""Reasoning: told apart from content, bounded, and before what is structured."""

import json
import unittest

import json_schema
from harness import ROOT, Case, at_once, client_of, shared_server, user, weather_tool
from openai_stream import both

CHAT = "/v1/chat/completions"
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 10, "maximum": 99}},
          "required": ["n"], "additionalProperties": False}


class Reasoning(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.http.close()
        cls.server = shared_server("--chat-template-file", str(ROOT / "test/service/thinking.jinja"),
                                   "--no-request-log", "--threads", "1")
        cls.http = client_of(cls.server)

    def body(self, **fields):
        return {"model": self.model, "messages": [user("What is two and two?")], "max_tokens": 60,
                "temperature": 0, **fields}

    def ask(self, **fields):
        answer = self.post(CHAT, self.body(**fields))
        choice = answer["choices"][0]
        details = answer["usage"]["completion_tokens_details"]
        return choice["message"], choice["finish_reason"], details["reasoning_tokens"]

    def streamed(self, **fields):
        content, reasoning, kinds = "", "", []
        for _, data in self.events(CHAT, self.body(**fields)):
            for choice in data["choices"] if data != "[DONE]" else []:
                delta = choice["delta"]
                for kind in ("reasoning_content", "content"):
                    if delta.get(kind):
                        kinds += [kind] if kinds[-1:] != [kind] else []
                content += delta.get("content") or ""
                reasoning += delta.get("reasoning_content") or ""
        return content, reasoning, kinds

    def test_the_prompt_opened_it(self):
        message, reason, tokens = self.ask(reasoning_budget=8, min_tokens=24)
        self.assertTrue(message["reasoning_content"])
        self.assertTrue(message["content"])
        self.assertNotIn("think>", message["content"] + message["reasoning_content"])
        marker = len(self.post("/tokenize", {"content": "\n</think>"})["tokens"])
        self.assertGreaterEqual(tokens, 8)
        self.assertLessEqual(tokens, 8 + marker)

    def test_streamed_as_whole(self):
        asked = [{"reasoning_budget": budget, "seed": seed, "temperature": 1}
                 for budget in (1, 5, 16) for seed in range(3)]
        wholes = at_once(lambda fields: self.ask(**fields)[0], asked)
        streams = at_once(lambda fields: self.streamed(**fields), asked)
        for message, (content, reasoning, kinds) in zip(wholes, streams):
            self.assertEqual(content, message["content"])
            self.assertEqual(reasoning, message.get("reasoning_content") or "")
            self.assertEqual(kinds, [kind for kind, text in (
                ("reasoning_content", reasoning), ("content", content)) if text])

    def test_budget_of_nothing(self):
        for _, fields in enumerate(({"reasoning_budget": 0}, {"thinking_budget": 0},
                                    {"thinking_token_budget": 0})):
            message, _, tokens = self.ask(**fields, min_tokens=16)
            self.assertFalse(message.get("reasoning_content"))
            self.assertTrue(message["content"])
            self.assertLessEqual(tokens, 8)
        self.ask(reasoning_budget=-1)
        self.refused(CHAT, self.body(reasoning_budget=-2), "reasoning_budget")
        self.refused(CHAT, self.body(reasoning_budget="many"), "reasoning_budget")

    def test_an_answer_at_once_is_content(self):
        # C6: the model ends without ever closing what the prompt has opened.
        [end] = self.post("/tokenize", {"content": "<|im_end|>", "parse_special": True})["tokens"]
        message, reason, _ = self.ask(min_tokens=8, logit_bias={str(end): 100})
        self.assertEqual(reason, "stop")
        self.assertTrue(message["content"])

    def test_turned_off(self):
        for fields in ({"chat_template_kwargs": {"enable_thinking": False}},
                       {"enable_thinking": False}):
            reply = self.http.post(CHAT, json=self.body(**fields, min_tokens=8))
            if reply.status_code == 400 and "enable_thinking" in fields:
                continue
            self.assertEqual(reply.status_code, 200, reply.text)
            message = reply.json()["choices"][0]["message"]
            self.assertFalse(message.get("reasoning_content"))
            self.assertTrue(message["content"])
            self.assertEqual(reply.json()["usage"]["completion_tokens_details"]["reasoning_tokens"],
                             0)

    def test_not_told_apart(self):
        message, _, _ = self.ask(reasoning_budget=6, reasoning_format="none")
        self.assertFalse(message.get("reasoning_content"))
        self.assertIn("</think>", message["content"])
        content, reasoning, _ = self.streamed(reasoning_budget=6, reasoning_format="none")
        self.assertEqual((content, reasoning), (message["content"], ""))

    def test_structure_comes_after(self):
        def check(seed):
            fields = {"reasoning_budget": 12, "temperature": 1.3, "seed": seed, "max_tokens": 80,
                      "response_format": {"type": "json_schema",
                                          "json_schema": {"name": "n", "schema": SCHEMA}}}
            message, reason, tokens = self.ask(**fields)
            self.assertEqual(reason, "stop")
            self.assertEqual(json_schema.errors(SCHEMA, json.loads(message["content"])), [])
            self.assertTrue(message["reasoning_content"])
            self.assertGreater(tokens, 0)
            self.assertEqual(self.streamed(**fields)[0], message["content"])
            message, reason, _ = self.ask(chat_template_kwargs={"enable_thinking": False}, **fields)
            self.assertEqual(json_schema.errors(SCHEMA, json.loads(message["content"])), [])
            message, reason, _ = self.ask(reasoning_budget=5, guided_regex="[a-f]{4}", seed=seed,
                                          temperature=1)
            self.assertRegex(message["content"], "^[a-f]{4}$")

        at_once(check, range(5))

    def test_calls_come_after(self):
        for choice in ("required", {"type": "function", "function": {"name": "get_weather"}}):
            message, reason, tokens = self.ask(
                reasoning_budget=9, tools=[weather_tool()], tool_choice=choice, max_tokens=150,
                parallel_tool_calls=False)
            self.assertEqual(reason, "tool_calls")
            self.assertTrue(message["reasoning_content"])
            self.assertIsNone(message["content"])
            arguments = json.loads(message["tool_calls"][0]["function"]["arguments"])
            self.assertIn(arguments["unit"], ("C", "F"))

    def test_stop_strings_are_of_content(self):
        free, _, _ = self.ask(reasoning_budget=12)
        word = free["reasoning_content"].split()[0]
        message, _, _ = self.ask(reasoning_budget=12, stop=[word])
        self.assertEqual(message["reasoning_content"], free["reasoning_content"])

    def test_log_probabilities_are_of_the_text_alone(self):
        choice = both(self, CHAT, **self.body(reasoning_budget=6, logprobs=True,
                                              max_tokens=30)).choices[0]
        self.assertTrue(choice.text)
        self.assertEqual("".join(token["token"] for token in choice.scores), choice.text)

    def test_history_keeps_reasoning_out_or_in(self):
        self.ask(messages=[user("Hi"), {"role": "assistant", "content": "Hello",
                                        "reasoning_content": "A greeting."}, user("Again")])

    def test_other_dialects(self):
        answer = self.post("/v1/responses", {"model": self.model, "input": "What is two and two?",
                                             "max_output_tokens": 400, "temperature": 0})
        self.assertIn("message", [item["type"] for item in answer["output"]])
        answer = self.post("/v1/messages", {
            "model": self.model, "messages": [user("What is two and two?")], "max_tokens": 1100,
            "thinking": {"type": "enabled", "budget_tokens": 1024}, "top_k": 1})
        self.assertIn(answer["content"][0]["type"], ("thinking", "text"))


if __name__ == "__main__":
    unittest.main()
