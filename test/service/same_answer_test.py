"""An answer depends on its request alone: not on load, on cached prefixes or on the time."""

import concurrent.futures
import random
import unittest

from harness import TOOL_TEMPLATE, Case, client_of, shared_server, user
from openai_stream import CHAT, TEXT, both, streamed, whole

WORDS = ("sea", "red", "one", "bread", "list", "why", "tell", "42", "S\u00e3o", "code", "(x)", "night")
LONG = "The quick brown fox jumps over the lazy dog near the river bank while it rains. " * 12


class SameAnswer(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.http.close()
        cls.server = shared_server("--chat-template-file", str(TOOL_TEMPLATE), "--no-request-log")
        cls.http = client_of(cls.server)

    def at_once(self, bodies, threads, ask=whole):
        with concurrent.futures.ThreadPoolExecutor(threads) as pool:
            return list(pool.map(lambda body: ask(self, body[0], **body[1]).told(), bodies))

    def bodies(self, count, seed):
        dice = random.Random(seed)
        for _ in range(count):
            words = " ".join(dice.choices(WORDS, k=dice.randint(1, 30)))
            body = {"model": self.model, "max_tokens": dice.randint(1, 14),
                    "temperature": dice.choice((0, 0, 0.7, 1, 1.5)), "seed": dice.randint(0, 99)}
            if dice.random() < 0.3:
                words = LONG + words
            if dice.random() < 0.3:
                body.update(top_p=0.9, top_k=dice.choice((0, 5, 50)), min_p=0.02,
                            repetition_penalty=1.2)
            if dice.random() < 0.2:
                body["n"] = 2
            if dice.random() < 0.5:
                yield TEXT, {**body, "prompt": words}
            else:
                yield CHAT, {**body, "messages": [user(words)], "logprobs": dice.random() < 0.3}

    def test_answers_under_load_equal_their_single_runs(self):
        bodies = list(self.bodies(60, 1))
        loaded = self.at_once(bodies, 17)
        wrong = [body for body, told in zip(bodies, loaded)
                 if told != whole(self, body[0], **{**body[1], "cache_prompt": False}).told()]
        self.assertEqual(wrong, [])

    def test_44_equal_requests_five_times(self):
        body = (TEXT, {"model": self.model, "prompt": "Once upon a time", "max_tokens": 8,
                       "temperature": 0})
        told = self.at_once([body] * 220, 44)
        self.assertEqual(len({str(one) for one in told}), 1)

    def test_streams_under_load(self):
        bodies = list(self.bodies(24, 2))
        loaded = self.at_once(bodies, 8, streamed)
        for body, told in zip(bodies, loaded):
            self.assertEqual(told, whole(self, body[0], **body[1]).told())

    def test_a_prefix_hit_does_not_change_the_answer(self):
        for more in ({"temperature": 0}, {"temperature": 1, "seed": 8}):
            for path, prompt in ((TEXT, {"prompt": f"{more} {LONG}"}),
                                 (CHAT, {"messages": [user(f"{more} {LONG}")]})):
                body = {"model": self.model, "max_tokens": 12, **more, **prompt}
                cold = whole(self, path, **body, cache_prompt=False)
                self.assertEqual(cold.usage["prompt_tokens_details"]["cached_tokens"], 0)
                first = whole(self, path, **body)
                warm = both(self, path, **body)
                self.assertEqual(first.told(), cold.told())
                self.assertEqual(warm.told(), cold.told())
                cached = warm.usage["prompt_tokens_details"]["cached_tokens"]
                self.assertGreater(cached, warm.usage["prompt_tokens"] * 0.8)
                self.assertLess(cached, warm.usage["prompt_tokens"])
                again = whole(self, path, **body, cache_prompt=False)
                self.assertEqual(again.told(), cold.told())
                self.assertEqual(again.usage["prompt_tokens_details"]["cached_tokens"], 0)

    def test_a_second_turn_finds_the_first(self):
        messages = [user("A story: " + LONG)]
        body = {"model": self.model, "max_tokens": 8, "temperature": 0}
        first = whole(self, CHAT, **body, messages=messages)
        messages += [{"role": "assistant", "content": first.text}, user("And then?")]
        second = whole(self, CHAT, **body, messages=messages)
        self.assertGreater(second.usage["prompt_tokens_details"]["cached_tokens"],
                           first.usage["prompt_tokens"] * 0.8)
        cold = whole(self, CHAT, **body, messages=messages, cache_prompt=False)
        self.assertEqual(second.told(), cold.told())

    def test_prefixes_of_every_length(self):
        """Hits that end at any place within a page."""
        for size in range(100, 180, 7):
            body = {"model": self.model, "prompt": LONG[:size * 4], "max_tokens": 4,
                    "temperature": 0, "logprobs": 2}
            cold = whole(self, TEXT, **body, cache_prompt=False)
            self.assertEqual(whole(self, TEXT, **body).told(), cold.told())

    def test_seeds(self):
        body = {"model": self.model, "messages": [user("Invent a name.")], "max_tokens": 12,
                "temperature": 2}
        told = {seed: whole(self, CHAT, **body, seed=seed).text for seed in range(6)}
        self.assertGreater(len(set(told.values())), 3)
        for seed, text in told.items():
            self.assertEqual(both(self, CHAT, **body, seed=seed).text, text)

    def test_without_a_seed_answers_differ(self):
        body = {"model": self.model, "messages": [user("Invent a name.")], "max_tokens": 12,
                "temperature": 2}
        self.assertGreater(len({whole(self, CHAT, **body).text for _ in range(4)}), 1)


class Choices(Case):
    BODY = {"prompt": "My favourite animal is", "max_tokens": 10, "temperature": 2, "seed": 11}

    def test_choices_differ_and_come_again(self):
        answer = both(self, TEXT, model=self.model, **self.BODY, n=5)
        texts = [choice.text for choice in answer.choices]
        self.assertGreater(len(set(texts)), 3)
        again = whole(self, TEXT, model=self.model, **self.BODY, n=5)
        self.assertEqual(again.told(), answer.told())

    def test_more_choices_begin_with_fewer(self):
        one = whole(self, TEXT, model=self.model, **self.BODY)
        three = whole(self, TEXT, model=self.model, **self.BODY, n=3)
        five = whole(self, TEXT, model=self.model, **self.BODY, n=5)
        self.assertEqual(three.told()[:1], one.told())
        self.assertEqual(five.told()[:3], three.told())

    def test_usage_counts_the_prompt_once(self):
        one = whole(self, TEXT, model=self.model, **self.BODY)
        many = whole(self, TEXT, model=self.model, **self.BODY, n=4, ignore_eos=True)
        self.assertEqual(many.usage["prompt_tokens"], one.usage["prompt_tokens"])
        self.assertEqual(many.usage["completion_tokens"], 40)

    def test_several_prompts(self):
        answer = both(self, TEXT, model=self.model, prompt=["A", "B", "A"], n=2, max_tokens=4,
                      temperature=1, seed=2)
        told = answer.told()
        self.assertEqual(len(told), 6)
        self.assertEqual(told[0:2], told[4:6])
        alone = whole(self, TEXT, model=self.model, prompt="B", n=2, max_tokens=4, temperature=1,
                      seed=2)
        self.assertEqual(told[2:4], alone.told())

    def test_greedy_choices_are_equal(self):
        answer = whole(self, CHAT, model=self.model, messages=[user("Hi")], n=3, max_tokens=6,
                       temperature=0)
        self.assertEqual(len({choice.text for choice in answer.choices}), 1)

    def test_best_of(self):
        def mean(choice):
            scores = choice.scores["token_logprobs"]
            return sum(scores) / len(scores)

        body = {**self.BODY, "model": self.model, "logprobs": 0, "ignore_eos": True}
        all_of_them = whole(self, TEXT, **body, n=6)
        best = whole(self, TEXT, **body, n=2, best_of=6)
        ranked = sorted(all_of_them.choices, key=mean, reverse=True)
        self.assertEqual([c.text for c in best.choices], [c.text for c in ranked[:2]])
        self.assertEqual(best.usage["completion_tokens"], 60)


if __name__ == "__main__":
    unittest.main()
