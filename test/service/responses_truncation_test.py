"""What Responses leave out where the conversation is too long for the context."""

import unittest

from responses_test import ResponsesCase, text_of


class Truncation(ResponsesCase):
    OLD = [{"role": "user", "content": "x " * 30000}, {"role": "assistant", "content": "y"},
           {"type": "function_call", "call_id": "c", "name": "get_weather", "arguments": "{}"},
           {"type": "function_call_output", "call_id": "c", "output": "z"}]
    GUIDE = {"role": "developer", "content": "Be brief."}
    LAST = {"role": "user", "content": "Name three colours."}

    def test_the_oldest_are_dropped(self):
        cut = self.create(input=[self.GUIDE, *self.OLD, self.LAST], truncation="auto",
                          instructions="Be kind.")
        kept = self.create(input=[self.GUIDE, self.LAST], instructions="Be kind.")
        self.assertEqual(cut["truncation"], "auto")
        self.assertEqual(cut["usage"]["input_tokens"], kept["usage"]["input_tokens"])
        self.assertEqual(text_of(cut), text_of(kept))
        counted = self.post("/v1/responses/input_tokens", {
            "model": self.model, "input": [*self.OLD, self.LAST], "truncation": "auto"})
        self.assertLess(counted["input_tokens"], cut["usage"]["input_tokens"])

    def test_what_is_stored_is_whole(self):
        first = self.create(input=[*self.OLD, self.LAST], truncation="auto")
        self.assertEqual(len(self.fetch(first["id"] + "/input_items")["data"]), 5)
        more = {"previous_response_id": first["id"], "input": "And more?"}
        self.assertEqual(self.create(400, **more)["error"]["code"], "context_length_exceeded")
        self.assertEqual(self.create(**more, truncation="auto")["truncation"], "auto")

    def test_only_where_asked_and_possible(self):
        for fields in ({"truncation": "disabled"}, {}):
            error = self.create(400, input=[*self.OLD, self.LAST], **fields)["error"]
            self.assertEqual(error["code"], "context_length_exceeded")
        error = self.create(400, input=self.OLD[0]["content"], truncation="auto")["error"]
        self.assertEqual((error["code"], error["param"]), ("context_length_exceeded", "input"))


if __name__ == "__main__":
    unittest.main()
