"""What the sampling fields do."""

import unittest

from harness import SHORT_QUESTIONS, Case, user
from openai_stream import CHAT, TEXT, both


class Sampling(Case):
    def text(self, **more):
        return both(self, TEXT, **{"model": self.model, "prompt": "One, two, three,", "max_tokens": 10,
                                   "temperature": 0, **more})

    def token(self, text):
        [token] = self.post("/tokenize", {"content": text})["tokens"]
        return str(token)

    def test_what_makes_an_answer_greedy(self):
        greedy = self.text().text
        for more in ({"top_k": 1}, {"top_p": 0}, {"top_p": 1e-6}, {"min_p": 1},
                     {"typical_p": 1, "top_k": 1}):
            for temperature in (0.8, 2):
                with self.subTest(**more):
                    self.assertEqual(self.text(temperature=temperature, seed=1, **more).text, greedy)
        self.assertEqual(self.text(seed=5).text, greedy)

    def test_what_changes_nothing(self):
        sampled = self.text(temperature=1, seed=4).text
        for more in ({"top_p": 1}, {"top_k": 0}, {"top_k": -1}, {"min_p": 0}, {"typical_p": 1},
                     {"repetition_penalty": 1}, {"presence_penalty": 0}, {"frequency_penalty": 0},
                     {"logit_bias": {}}, {"logit_bias": {"5": 0}}, {"n": 1}, {"stop": []},
                     {"repetition_penalty": 1.5, "penalty_last_n": 0}, {"user": "someone"},
                     {"top_k": 10**9}, {"min_tokens": 0}, {"metadata": {"a": "b"}}):
            with self.subTest(**more):
                self.assertEqual(self.text(temperature=1, seed=4, **more).text, sampled)

    def test_null_is_absent(self):
        plain = self.text(temperature=1, seed=4).text
        for field in ("top_p", "top_k", "min_p", "typical_p", "repetition_penalty", "presence_penalty",
                      "frequency_penalty", "penalty_last_n", "logit_bias", "n", "stop", "stream", "logprobs",
                      "echo", "best_of", "user", "suffix", "stop_token_ids", "min_tokens", "ignore_eos",
                      "cache_prompt", "response_format"):
            reply = self.post(TEXT, {"model": self.model, "prompt": "One, two, three,", "max_tokens": 10,
                                     "temperature": 1, "seed": 4, field: None})
            self.assertEqual(reply["choices"][0]["text"], plain, field)
        for field in ("temperature", "max_tokens", "max_completion_tokens", "seed", "tools", "tool_choice",
                      "response_format", "stream_options", "logprobs", "top_logprobs", "reasoning_effort",
                      "parallel_tool_calls", "metadata", "store", "service_tier", "modalities", "model",
                      "functions", "function_call", "audio", "prediction", "verbosity"):
            body = {"model": self.model, "messages": [user("Hi")], "max_tokens": 1}
            self.post(CHAT, {**body, field: None} if field != "max_tokens" else
                      {**body, "max_completion_tokens": 1, field: None})

    def test_bias_forces(self):
        for path, prompt in ((TEXT, {"prompt": "x"}), (CHAT, {"messages": [user("x")]})):
            for temperature in (0, 1):
                answer = both(self, path, model=self.model, **prompt, max_tokens=5,
                              temperature=temperature, logit_bias={self.token(" sea"): 100})
                self.assertEqual(answer.text, " sea" * 5)

    def test_bias_bans(self):
        first = self.text(logprobs=1).choices[0].scores["tokens"][0]
        banned = self.text(logprobs=1, logit_bias={self.token(first): -100})
        self.assertNotIn(first, banned.choices[0].scores["tokens"])
        for seed in range(3):
            answer = self.text(temperature=2, seed=seed, logprobs=1, logit_bias={self.token(first): -100})
            self.assertNotIn(first, answer.choices[0].scores["tokens"])

    def test_penalties(self):
        def repeats(answer):
            tokens = answer.choices[0].scores["tokens"]
            return max(map(tokens.count, tokens))

        loop = {"prompt": "red, blue, red, blue, red, blue, red,", "max_tokens": 24, "logprobs": 0}
        plain = self.text(**loop)
        self.assertGreater(repeats(plain), 8)
        for more in ({"repetition_penalty": 1.8}, {"repeat_penalty": 1.8}, {"frequency_penalty": 2}):
            with self.subTest(**more):
                self.assertLess(repeats(self.text(**loop, **more)), repeats(plain))
        for off in ({"repetition_penalty": 1.8, "penalty_last_n": 0},
                    {"repeat_penalty": 1.8, "repeat_last_n": 0}):
            self.assertEqual(self.text(**loop, **off).text, plain.text)

        def distinct(presence):
            answer = self.text(prompt="Words:", max_tokens=40, logprobs=0, presence_penalty=presence)
            return len(set(answer.choices[0].scores["tokens"]))

        self.assertGreater(distinct(2), distinct(-2))

    def test_sizes(self):
        for more in ({"max_tokens": 3}, {"max_completion_tokens": 3},
                     {"max_tokens": 3, "max_completion_tokens": 3}):
            answer = both(self, CHAT, model=self.model, messages=[user("Tell a story.")], temperature=0, **more)
            self.assertEqual((answer.reason, answer.usage["completion_tokens"]), ("length", 3))
        reply = self.post(TEXT, {"model": self.model, "prompt": "1, 2, 3,", "temperature": 0})
        self.assertEqual(reply["usage"]["completion_tokens"], 16)

    def test_the_end_of_the_model(self):
        for question in SHORT_QUESTIONS:
            ask = {"model": self.model, "messages": [user(question)], "temperature": 0,
                   "max_tokens": 200}
            free = both(self, CHAT, **ask)
            if free.reason == "stop":
                break
        self.assertEqual(free.reason, "stop")
        count = free.usage["completion_tokens"]
        self.assertNotIn("<|im_end|>", free.text)
        more = both(self, CHAT, **{**ask, "max_tokens": count + 10}, min_tokens=count + 5)
        self.assertGreaterEqual(more.usage["completion_tokens"], count + 5)
        self.assertTrue(more.text.startswith(free.text))
        endless = both(self, CHAT, **{**ask, "max_tokens": count + 8}, ignore_eos=True)
        self.assertEqual((endless.reason, endless.usage["completion_tokens"]), ("length", count + 8))

    def test_min_tokens_outlasts_a_stop_token(self):
        stop = self.token(",")
        answer = self.text(stop_token_ids=[int(stop)], min_tokens=6, prompt="a, b, c, d, e, f,")
        self.assertGreaterEqual(answer.usage["completion_tokens"], 6)


if __name__ == "__main__":
    unittest.main()
