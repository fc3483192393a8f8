"""Each family's calls over HTTP: what its grammar lets a model write, its parser reads."""

import itertools
import json
import unittest

import json_schema
from harness import TOOL_TEMPLATE, Server, at_once, client_of, user

FAMILIES = ("hermes", "qwen3_coder", "llama3", "mistral", "glm4", "deepseek_v3", "deepseek_v31",
            "deepseek_v32", "kimi_k2", "minimax", "harmony", "generic")
PLACE = {"type": "object", "additionalProperties": False,
         "required": ["city", "days", "unit", "exact", "list"],
         "properties": {"city": {"type": "string", "minLength": 2, "maxLength": 12},
                        "days": {"type": "integer", "minimum": 1, "maximum": 14},
                        "unit": {"enum": ["C", "F"]},
                        "exact": {"type": "boolean"},
                        "code": {"type": "string", "pattern": "^[A-Z]{2,4}$"},
                        "kind": {"const": "day"},
                        "list": {"type": "array", "items": {"$ref": "#/$defs/size"},
                                 "maxItems": 2}},
         "$defs": {"size": {"enum": ["s", "l"]}}}
NOTHING = {"type": "object", "properties": {}, "additionalProperties": False}
TOOLS = [{"type": "function", "function": {"name": "get-weather", "parameters": PLACE,
                                           "strict": True}},
         {"type": "function", "function": {"name": "stop_all", "parameters": NOTHING,
                                           "strict": True}}]
SCHEMAS = {"get-weather": PLACE, "stop_all": NOTHING}

CHOICES = ("required", {"type": "function", "function": {"name": "get-weather"}},
           {"type": "function", "function": {"name": "stop_all"}}, "auto")


class Families(unittest.TestCase):
    def check(self, family):
        server = Server("--chat-template-file", str(TOOL_TEMPLATE), "--output-family", family,
                        "--no-request-log", "--threads", "1")
        asked = list(itertools.product(CHOICES, range(2)))
        try:
            with client_of(server) as http:
                replies = at_once(lambda pair: self.ask(http, *pair), asked)
        finally:
            server.kill()
        for (choice, seed), reply in zip(asked, replies):
            with self.subTest(family=family, seed=seed, choice=choice):
                self.assertEqual(reply.status_code, 200, reply.text)
                answer = reply.json()["choices"][0]
                calls = answer["message"].get("tool_calls") or []
                self.assertIn(answer["finish_reason"], ("tool_calls", "stop", "length"))
                if answer["finish_reason"] == "length":
                    calls = calls[:-1]
                elif choice != "auto":
                    self.assertGreater(len(calls), 0, answer)
                    self.assertEqual(answer["finish_reason"], "tool_calls")
                if seed % 2 == 1:
                    self.assertLessEqual(len(calls), 1)
                for call in calls:
                    name = call["function"]["name"]
                    if isinstance(choice, dict):
                        self.assertEqual(name, choice["function"]["name"])
                    arguments = json.loads(call["function"]["arguments"])
                    self.assertEqual(json_schema.errors(SCHEMAS[name], arguments), [])

    def ask(self, http, choice, seed):
        return http.post("/v1/chat/completions", json={
            "messages": [user("The weather in Rome, and then stop.")], "seed": seed,
            "tools": TOOLS, "tool_choice": choice, "max_tokens": 160, "temperature": 0.8,
            "parallel_tool_calls": seed % 2 == 0})


for name in FAMILIES:
    setattr(Families, "test_" + name, lambda self, name=name: self.check(name))

if __name__ == "__main__":
    unittest.main()
