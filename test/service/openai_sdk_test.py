"""The official OpenAI client for Python."""

import json
import unittest

import openai

from harness import ENDLESS_SCHEMA, GUARD_SECONDS, Case, weather_tool


class OpenAiClient(Case):
    def setUp(self):
        self.client = openai.OpenAI(base_url=self.server.url + "/v1", api_key="none", max_retries=0,
                                    timeout=GUARD_SECONDS)

    def create(self, **fields):
        return self.client.chat.completions.create(
            **{"model": self.model, "temperature": 0, "max_tokens": 24,
               "messages": [{"role": "user", "content": "Name three colours."}], **fields})

    def test_chat(self):
        answer = self.create()
        self.assertEqual(answer.object, "chat.completion")
        self.assertTrue(answer.choices[0].message.content)
        self.assertIn(answer.choices[0].finish_reason, ("stop", "length"))
        usage = answer.usage
        self.assertEqual(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens)

    def test_stream_equals_the_whole(self):
        whole = self.create()
        text, reason, usage = "", None, None
        for chunk in self.create(stream=True, stream_options={"include_usage": True}):
            if chunk.choices:
                text += chunk.choices[0].delta.content or ""
                reason = chunk.choices[0].finish_reason or reason
            usage = chunk.usage or usage
        self.assertEqual(text, whole.choices[0].message.content)
        self.assertEqual(reason, whole.choices[0].finish_reason)
        self.assertEqual(usage.completion_tokens, whole.usage.completion_tokens)

    def test_stream_helper(self):
        with self.client.chat.completions.stream(
                model=self.model, temperature=0, max_tokens=200,
                messages=[{"role": "user", "content": "Name three colours."}]) as stream:
            for _ in stream:
                pass
            final = stream.get_final_completion()
        self.assertTrue(final.choices[0].message.content)

    def test_named_tool(self):
        choice = {"type": "function", "function": {"name": "get_weather"}}
        answer = self.create(tools=[weather_tool()], tool_choice=choice, max_tokens=200,
                             parallel_tool_calls=False)
        call = answer.choices[0].message.tool_calls[0]
        self.assertEqual(call.function.name, "get_weather")
        arguments = json.loads(call.function.arguments)
        self.assertIn(arguments["unit"], ("C", "F"))
        self.assertEqual(answer.choices[0].finish_reason, "tool_calls")

    def test_streamed_tool(self):
        name, arguments, first = "", "", None
        for chunk in self.create(tools=[weather_tool()], tool_choice="required", max_tokens=200,
                                 parallel_tool_calls=False, stream=True):
            for call in chunk.choices[0].delta.tool_calls or []:
                if first is None:
                    first = call
                name += call.function.name or ""
                arguments += call.function.arguments or ""
        self.assertEqual(name, "get_weather")
        self.assertTrue(first.id)
        self.assertFalse(first.function.arguments)
        self.assertIn("city", json.loads(arguments))

    def test_tool_results_go_back(self):
        call = {"id": "call_1", "type": "function",
                "function": {"name": "get_weather", "arguments": '{"city": "Rome", "unit": "C"}'}}
        answer = self.create(tools=[weather_tool()], messages=[
            {"role": "user", "content": "The weather in Rome?"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_1", "content": "21 degrees"}])
        self.assertTrue(answer.choices)

    def test_structured_output(self):
        schema = {"type": "object", "additionalProperties": False, "required": ["colour", "count"],
                  "properties": {"colour": {"enum": ["red", "green"]},
                                 "count": {"type": "integer", "minimum": 0, "maximum": 9}}}
        answer = self.create(max_tokens=60, response_format={
            "type": "json_schema", "json_schema": {"name": "thing", "schema": schema, "strict": True}})
        thing = json.loads(answer.choices[0].message.content)
        self.assertIn(thing["colour"], ("red", "green"))
        self.assertIn(thing["count"], range(10))

    def test_parse_helper(self):
        import pydantic

        class Point(pydantic.BaseModel):
            x: int = pydantic.Field(ge=0, le=99)
            y: int = pydantic.Field(ge=0, le=99)

        answer = self.client.chat.completions.parse(
            model=self.model, temperature=0, max_tokens=60, response_format=Point,
            messages=[{"role": "user", "content": "A point, please."}])
        self.assertIsInstance(answer.choices[0].message.parsed, Point)

    def test_several_choices_and_log_probabilities(self):
        answer = self.create(n=3, temperature=1, seed=5, logprobs=True, top_logprobs=2, max_tokens=6)
        self.assertEqual([choice.index for choice in answer.choices], [0, 1, 2])
        for choice in answer.choices:
            tokens = choice.logprobs.content
            self.assertEqual("".join(t.token for t in tokens), choice.message.content)
            for token in tokens:
                self.assertLessEqual(token.logprob, 0)
                self.assertEqual(len(token.top_logprobs), 2)
        again = self.create(n=3, temperature=1, seed=5, max_tokens=6)
        self.assertEqual([c.message.content for c in again.choices],
                         [c.message.content for c in answer.choices])

    def test_completions(self):
        answer = self.client.completions.create(model=self.model, prompt="Once upon a time",
                                                max_tokens=8, temperature=0, echo=True)
        self.assertTrue(answer.choices[0].text.startswith("Once upon a time"))

    def test_models(self):
        self.assertIn(self.model, [model.id for model in self.client.models.list()])
        self.assertEqual(self.client.models.retrieve(self.model).id, self.model)

    def test_errors(self):
        with self.assertRaises(openai.NotFoundError) as caught:
            self.create(model="no such model")
        self.assertEqual(caught.exception.code, "model_not_found")
        with self.assertRaises(openai.BadRequestError) as caught:
            self.create(temperature=-1)
        self.assertEqual(caught.exception.param, "temperature")
        with self.assertRaises(openai.BadRequestError):
            self.create(max_tokens=8, messages=[{"role": "user", "content": "word " * 20000}])


class OpenAiResponses(Case):
    def setUp(self):
        self.client = openai.OpenAI(base_url=self.server.url + "/v1", api_key="none", max_retries=0,
                                    timeout=GUARD_SECONDS)

    def create(self, **fields):
        return self.client.responses.create(
            **{"model": self.model, "temperature": 0, "max_output_tokens": 24,
               "input": "Name three colours.", **fields})

    def test_create_and_continue(self):
        first = self.create()
        self.assertTrue(first.output_text)
        self.assertEqual(self.client.responses.retrieve(first.id).output_text, first.output_text)
        items = list(self.client.responses.input_items.list(first.id))
        self.assertEqual(items[0].role, "user")
        second = self.create(input="And one more.", previous_response_id=first.id)
        self.assertGreater(second.usage.input_tokens, first.usage.input_tokens)
        self.client.responses.delete(first.id)
        with self.assertRaises(openai.NotFoundError):
            self.client.responses.retrieve(first.id)

    def test_stream(self):
        whole = self.create()
        numbers, text, final = [], "", None
        for event in self.create(stream=True):
            numbers.append(event.sequence_number)
            if event.type == "response.output_text.delta":
                text += event.delta
            if event.type in ("response.completed", "response.incomplete"):
                final = event.response
        self.assertEqual(numbers, list(range(len(numbers))))
        self.assertEqual(text, whole.output_text)
        self.assertEqual(final.output_text, text)

    def test_function_call(self):
        tool = {"type": "function", "strict": True, **weather_tool()["function"]}
        answer = self.create(tools=[tool], tool_choice="required", max_output_tokens=200)
        call = next(item for item in answer.output if item.type == "function_call")
        self.assertIn("city", json.loads(call.arguments))
        follow = self.create(previous_response_id=answer.id, tools=[tool], input=[
            {"type": "function_call_output", "call_id": call.call_id, "output": "21 degrees"}])
        self.assertIn(follow.status, ("completed", "incomplete"))

    def test_dumped_items_go_back(self):
        tool = {"type": "function", "strict": True, **weather_tool()["function"]}
        answer = self.create(tools=[tool], tool_choice="required", max_output_tokens=200,
                             parallel_tool_calls=False)
        # Members that were never set are null in what the client dumps.
        items = [item.model_dump() for item in answer.output]
        follow = self.create(tools=[tool], input=[
            {"role": "user", "content": "Name three colours."}, *items,
            {"type": "function_call_output", "call_id": items[0]["call_id"], "output": "21"}])
        self.assertIn(follow.status, ("completed", "incomplete"))

    def test_structured_output(self):
        answer = self.create(max_output_tokens=60, text={"format": {
            "type": "json_schema", "name": "thing", "strict": True,
            "schema": {"type": "object", "additionalProperties": False, "required": ["ok"],
                       "properties": {"ok": {"type": "boolean"}}}}})
        self.assertIsInstance(json.loads(answer.output_text)["ok"], bool)

    def test_background_and_cancel(self):
        answer = self.create(background=True, max_output_tokens=7000, text={"format": {
            "type": "json_schema", "name": "numbers", "schema": ENDLESS_SCHEMA, "strict": True}})
        self.assertIn(answer.status, ("queued", "in_progress"))
        self.assertEqual(self.client.responses.cancel(answer.id).status, "cancelled")
        self.assertEqual(self.client.responses.retrieve(answer.id).status, "cancelled")

    def test_a_stream_is_taken_up_again(self):
        stream = self.create(background=True, stream=True)
        first = next(iter(stream))
        stream.close()
        rest = list(self.client.responses.retrieve(first.response.id, stream=True, starting_after=0))
        self.assertEqual(rest[0].sequence_number, 1)
        self.assertEqual(rest[-1].response.output_text, self.create().output_text)

    def test_unknown_previous_response(self):
        with self.assertRaises(openai.BadRequestError) as caught:
            self.create(previous_response_id="resp_of_nobody")
        self.assertEqual(caught.exception.param, "previous_response_id")
        self.assertEqual(caught.exception.code, "previous_response_not_found")


if __name__ == "__main__":
    unittest.main()
