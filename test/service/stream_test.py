"""Streams and whole answers of chat and completions say the same."""

import concurrent.futures
import json
import unittest

from harness import Case, at_once, user
from openai_stream import CHAT, TEXT, both, streamed, whole

EMOJI = "\U0001f600 \U0001f389 \U0001f99c \U0001f9d1\u200d\U0001f680 \u010f \u0159 \u6f22\u5b57 \ud55c\uad6d\uc5b4 \U0001f44d\U0001f3fd "


class Streams(Case):
    def test_many_requests(self):
        prompts = ["Hello", "Write a poem about the sea.", "1 + 1 =", EMOJI * 2, "", "\n\n", "\u010f"]
        settings = [{"temperature": 0}, {"temperature": 1, "seed": 1}, {"temperature": 2, "seed": 2},
                    {"temperature": 0.7, "top_p": 0.9, "top_k": 40, "min_p": 0.05, "seed": 3},
                    {"temperature": 1, "repetition_penalty": 1.3, "presence_penalty": 1,
                     "frequency_penalty": 1, "seed": -4}]
        bodies = [(path, {"model": self.model, "max_tokens": 12, **setting, **asked})
                  for prompt in prompts for setting in settings
                  for path, asked in ((CHAT, {"messages": [user(prompt)]}),
                                      (TEXT, {"prompt": prompt})) if prompt or path == CHAT]
        at_once(lambda pair: both(self, pair[0], **pair[1]), bodies)

    def test_characters_of_several_tokens(self):
        """Every piece is whole characters, of two at once."""
        bodies = [{"model": self.model, "prompt": EMOJI * 3 + text, "max_tokens": 40,
                   "temperature": temperature, "seed": 5} for temperature in (0, 2)
                  for text in ("\U0001f600 \U0001f389", "\u010f \u0159")]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            streams = list(pool.map(lambda body: streamed(self, TEXT, **body), bodies))
        for body, stream in zip(bodies, streams):
            self.assertEqual(whole(self, TEXT, **body).told(), stream.told())
        self.assertTrue(any(ord(c) > 0xffff for c in streams[0].text), streams[0].text)
        for stream in streams[:2]:
            self.assertNotIn("\ufffd", stream.text)

    def test_an_answer_that_ends_within_a_character(self):
        """Bytes that are no character yet are not told as a broken one."""
        [first, *rest] = self.post("/tokenize", {"content": "\U0001f99c"})["tokens"]
        self.assertTrue(rest)
        bias = {str(first): 100}
        for path, prompt in ((CHAT, {"messages": [user("x")]}), (TEXT, {"prompt": "x"})):
            answer = both(self, path, model=self.model, max_tokens=1, temperature=0,
                          logit_bias=bias, **prompt)
            self.assertEqual((answer.text, answer.reason), ("", "length"))
            self.assertEqual(answer.usage["completion_tokens"], 1)

    def test_broken_bytes_within_an_answer(self):
        """What can become no character any more is told as U+FFFD."""
        [first, *_] = self.post("/tokenize", {"content": "\U0001f99c"})["tokens"]
        answer = both(self, TEXT, model=self.model, prompt="x", max_tokens=3, temperature=0,
                      logit_bias={str(first): 100})
        self.assertEqual(answer.text, "\ufffd\ufffd")

    def test_chunks(self):
        body = {"model": self.model, "messages": [user("Hi")], "max_tokens": 5, "temperature": 0,
                "ignore_eos": True}
        events = self.events(CHAT, body)
        self.assertEqual(events[-1], ("", "[DONE]"))
        chunks = [data for _, data in events[:-1]]
        self.assertTrue(all("usage" not in chunk or chunk["usage"] is None for chunk in chunks))
        self.assertEqual(chunks[0]["choices"][0]["delta"], {"role": "assistant", "content": ""})
        self.assertEqual([c["choices"][0]["delta"].get("role") for c in chunks[1:]],
                         [None] * (len(chunks) - 1))
        self.assertEqual([c["choices"][0]["finish_reason"] for c in chunks],
                         [None] * (len(chunks) - 1) + ["length"])
        self.assertEqual(chunks[-1]["choices"][0]["delta"], {})
        self.assertEqual({c["object"] for c in chunks}, {"chat.completion.chunk"})
        self.assertEqual({c["id"] for c in chunks}, {chunks[0]["id"]})
        self.assertTrue(chunks[0]["id"].startswith("chatcmpl-"))

    def test_each_token_is_told_as_it_comes(self):
        stream = streamed(self, TEXT, model=self.model, prompt="1, 2, 3, 4, 5, 6, 7,", max_tokens=16,
                          temperature=0)
        pieces = [piece for piece in stream.choices[0].pieces if piece]
        self.assertGreaterEqual(len(pieces), 12)
        self.assertLess(max(map(len, pieces)), 8)

    def test_usage_chunk(self):
        for path, prompt in ((CHAT, {"messages": [user("Hi")]}), (TEXT, {"prompt": "Hi"})):
            body = {"model": self.model, "max_tokens": 3, "temperature": 0, "ignore_eos": True, **prompt}
            events = self.events(path, {**body, "stream_options": {"include_usage": True}})
            last = events[-2][1]
            self.assertEqual(last["choices"], [])
            usage = last["usage"]
            self.assertEqual(usage["completion_tokens"], 3)
            self.assertEqual(usage["total_tokens"], usage["prompt_tokens"] + 3)
            self.assertIn("cached_tokens", usage["prompt_tokens_details"])
            self.assertIn("reasoning_tokens", usage["completion_tokens_details"])
            no_usage = self.events(path, {**body, "stream_options": {"include_usage": False}})
            self.assertEqual(len(no_usage), len(events) - 1)

    def test_bytes_of_a_stream(self):
        body = {"model": self.model, "messages": [user("Hi")], "max_tokens": 3, "stream": True}
        reply = self.http.post(CHAT, json=body)
        self.assertTrue(reply.headers["content-type"].startswith("text/event-stream"))
        self.assertTrue(reply.content.endswith(b"data: [DONE]\n\n"))
        for block in reply.text.removesuffix("\n\n").split("\n\n"):
            self.assertTrue(block.startswith("data: "))
            self.assertNotIn("\n", block)

    def test_an_error_before_the_stream_has_its_status(self):
        for path, body in ((CHAT, {"messages": []}), (TEXT, {"prompt": "x", "n": 0}),
                           (CHAT, {"messages": [user("x " * 10000)]}),
                           (CHAT, {"messages": [user("x")], "logit_bias": {"999999": 1}})):
            reply = self.http.post(path, json={**body, "stream": True})
            self.assertEqual(reply.status_code, 400)
            self.assertEqual(set(json.loads(reply.content)["error"]),
                             {"message", "type", "param", "code"})


if __name__ == "__main__":
    unittest.main()
