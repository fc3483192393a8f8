"""The official Anthropic client for Python."""

import unittest

import anthropic

from harness import GUARD_SECONDS, Case, weather_tool


def tool():
    function = weather_tool()["function"]
    return {"name": function["name"], "description": function["description"],
            "input_schema": function["parameters"]}


class AnthropicClient(Case):
    def setUp(self):
        self.client = anthropic.Anthropic(base_url=self.server.url, api_key="none", max_retries=0,
                                          timeout=GUARD_SECONDS)

    def arguments(self, **fields):
        # The client has no parameter of its own for the temperature.
        body = {"temperature": fields.pop("temperature", 0)}
        return {"model": self.model, "max_tokens": 24, "extra_body": body,
                "messages": [{"role": "user", "content": "Name three colours."}], **fields}

    def test_message(self):
        message = self.client.messages.create(**self.arguments())
        self.assertEqual(message.content[0].type, "text")
        self.assertIn(message.stop_reason, ("end_turn", "max_tokens"))
        self.assertGreater(message.usage.output_tokens, 0)

    def test_stream_equals_the_whole(self):
        whole = self.client.messages.create(**self.arguments())
        with self.client.messages.stream(**self.arguments()) as stream:
            text = "".join(stream.text_stream)
            final = stream.get_final_message()
        self.assertEqual(text, whole.content[0].text)
        self.assertEqual(final.content[0].text, text)
        self.assertEqual(final.stop_reason, whole.stop_reason)
        self.assertEqual(final.usage.output_tokens, whole.usage.output_tokens)

    def test_tool(self):
        message = self.client.messages.create(**self.arguments(
            tools=[tool()], max_tokens=200, tool_choice={
                "type": "tool", "name": "get_weather", "disable_parallel_tool_use": True}))
        use = next(block for block in message.content if block.type == "tool_use")
        self.assertIn(use.input["unit"], ("C", "F"))
        self.assertEqual(message.stop_reason, "tool_use")
        follow = self.client.messages.create(**self.arguments(tools=[tool()], messages=[
            {"role": "user", "content": "The weather in Rome?"},
            {"role": "assistant", "content": [use.model_dump(include={"type", "id", "name", "input"})]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": use.id,
                                          "content": "21 degrees"}]}]))
        self.assertTrue(follow.content is not None)

    def test_tool_runner(self):
        @anthropic.beta_tool
        def get_weather(city: str) -> str:
            """The weather of a city."""
            return f"21 degrees in {city}"

        fields = self.arguments(tools=[get_weather], max_tokens=60)
        messages = list(self.client.beta.messages.tool_runner(
            **fields, max_iterations=2, thread=False))
        self.assertTrue(messages[0].content)

    def test_streamed_tool(self):
        with self.client.messages.stream(**self.arguments(
                tools=[tool()], tool_choice={"type": "any"}, max_tokens=200)) as stream:
            final = stream.get_final_message()
        use = next(block for block in final.content if block.type == "tool_use")
        self.assertIn("city", use.input)

    def test_stop_sequence(self):
        whole = self.client.messages.create(**self.arguments()).content[0].text
        stop = whole[4:9]
        message = self.client.messages.create(**self.arguments(stop_sequences=[stop]))
        self.assertEqual(message.stop_reason, "stop_sequence")
        self.assertEqual(message.stop_sequence, stop)
        self.assertEqual("".join(block.text for block in message.content),
                         whole[:whole.index(stop)])

    def test_system_and_count(self):
        count = self.client.messages.count_tokens(
            model=self.model, system="Be brief.",
            messages=[{"role": "user", "content": "Name three colours."}])
        message = self.client.messages.create(**self.arguments(system="Be brief."))
        usage = message.usage
        self.assertEqual(count.input_tokens, usage.input_tokens + (usage.cache_read_input_tokens or 0)
                         + (usage.cache_creation_input_tokens or 0))

    def test_errors(self):
        with self.assertRaises(anthropic.NotFoundError):
            self.client.messages.create(**self.arguments(model="no such model"))
        with self.assertRaises(anthropic.BadRequestError) as caught:
            self.client.messages.create(**self.arguments(temperature=7))
        self.assertEqual(caught.exception.body["error"]["type"], "invalid_request_error")
        self.assertIn("temperature", caught.exception.body["error"]["message"])


if __name__ == "__main__":
    unittest.main()
