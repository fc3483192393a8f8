"""Log-probabilities of chat and of completions."""

import math
import unittest

from harness import Case, user
from openai_stream import CHAT, TEXT, both


class ChatScores(Case):
    def scored(self, **more):
        return both(self, CHAT, **{"model": self.model, "messages": [user("Name three fruits. \U0001f600")],
                                   "max_tokens": 12, "temperature": 0, "logprobs": True, **more})

    def test_tokens_make_up_the_text(self):
        for more in ({}, {"temperature": 1.5, "seed": 3}, {"n": 3, "temperature": 1, "seed": 4},
                     {"messages": [user("\U0001f600\U0001f389" * 4)], "temperature": 1, "seed": 1}):
            for choice in self.scored(**more).choices:
                joined = bytes(byte for token in choice.scores for byte in token["bytes"])
                self.assertEqual(joined.decode(errors="replace"), choice.text)
                for token in choice.scores:
                    self.assertEqual(token["token"], bytes(token["bytes"]).decode(errors="replace"))
                    self.assertLessEqual(token["logprob"], 0)
                    self.assertEqual(token["top_logprobs"], [])

    def test_counts_of_alternatives(self):
        for count in (0, 1, 2, 5, 20):
            for token in self.scored(top_logprobs=count).choices[0].scores:
                top = [other["logprob"] for other in token["top_logprobs"]]
                self.assertEqual(len(top), count)
                self.assertEqual(top, sorted(top, reverse=True))
                self.assertLessEqual(sum(map(math.exp, top)), 1.0001)
                if count:
                    self.assertEqual(token["top_logprobs"][0],
                                     {k: token[k] for k in ("token", "logprob", "bytes")})

    def test_the_chosen_one_among_the_alternatives(self):
        scored = self.scored(top_logprobs=20, temperature=2, top_k=20, seed=2)
        for token in scored.choices[0].scores:
            told = {name: token[name] for name in ("token", "logprob", "bytes")}
            self.assertIn(told, token["top_logprobs"])

    def test_absent_unless_asked(self):
        for more in ({"logprobs": False}, {"logprobs": None}):
            self.assertIsNone(self.scored(**more).choices[0].scores)

    def test_scores_do_not_change_the_answer(self):
        plain = self.scored(logprobs=False, temperature=1, seed=9)
        self.assertEqual(plain.text, self.scored(top_logprobs=5, temperature=1, seed=9).text)

    def test_with_a_stop(self):
        free = self.scored(messages=[user("Name three fruits.")])
        stop = free.text[5:9]
        answer = self.scored(messages=[user("Name three fruits.")], stop=stop)
        self.assertEqual(answer.text, free.text[:free.text.index(stop)])
        scores = answer.choices[0].scores
        self.assertEqual(scores, free.choices[0].scores[:len(scores)])


class TextScores(Case):
    PROMPT = "The capital of France is"

    def scored(self, **more):
        return both(self, TEXT, **{"model": self.model, "prompt": self.PROMPT, "max_tokens": 6,
                                   "temperature": 0, "logprobs": 2, **more})

    def check_form(self, scores, text, count):
        size = len(scores["tokens"])
        self.assertEqual(set(scores), {"tokens", "token_logprobs", "top_logprobs", "text_offset"})
        self.assertEqual({len(column) for column in scores.values()}, {size})
        self.assertEqual("".join(scores["tokens"]), text)
        offset = 0
        for at, token in zip(scores["text_offset"], scores["tokens"]):
            self.assertEqual(at, offset)
            offset += len(token)
        for token, score, top in zip(scores["tokens"], scores["token_logprobs"], scores["top_logprobs"]):
            if score is not None:
                self.assertIn(token, top)
                self.assertEqual(top[token], score)
                self.assertIn(len(top), (count, count + 1))

    def test_form(self):
        for count in (1, 2, 5):
            answer = self.scored(logprobs=count)
            self.check_form(answer.choices[0].scores, answer.text, count)
            self.assertEqual(len(answer.choices[0].scores["tokens"]), 6)

    def test_none_beside_the_chosen(self):
        answer = self.scored(logprobs=0)
        self.assertEqual(len(answer.choices[0].scores["token_logprobs"]), 6)
        self.assertTrue(all(top is None or len(top) <= 1
                            for top in answer.choices[0].scores["top_logprobs"]))

    def test_echo(self):
        answer = self.scored(echo=True)
        scores = answer.choices[0].scores
        self.assertTrue(answer.text.startswith(self.PROMPT))
        self.check_form(scores, answer.text, 2)
        self.assertIsNone(scores["token_logprobs"][0])
        self.assertIsNone(scores["top_logprobs"][0])
        self.assertTrue(all(score <= 0 for score in scores["token_logprobs"][1:]))
        plain = self.scored().choices[0].scores
        self.assertEqual(scores["token_logprobs"][-6:], plain["token_logprobs"])

    def test_the_prompt_alone(self):
        answer = self.scored(echo=True, max_tokens=0)
        scores = answer.choices[0].scores
        self.assertEqual((answer.text, answer.reason), (self.PROMPT, "length"))
        self.assertEqual(answer.usage["completion_tokens"], 0)
        self.check_form(scores, self.PROMPT, 2)
        longer = self.scored(echo=True).choices[0].scores
        self.assertEqual(scores["token_logprobs"], longer["token_logprobs"][:len(scores["tokens"])])
        again = self.scored(echo=True, max_tokens=0)
        self.assertEqual(answer.told(), again.told())

    def test_echo_scores_are_those_of_an_answer(self):
        """What the model itself wrote, given back as a prompt, is scored the same."""
        scores = self.scored(max_tokens=5).choices[0].scores
        ids = [token for text in (self.PROMPT, *scores["tokens"])
               for token in self.post("/tokenize", {"content": text})["tokens"]]
        echoed = self.scored(prompt=ids, echo=True, max_tokens=0).choices[0].scores
        self.assertEqual(echoed["tokens"][-len(scores["tokens"]):], scores["tokens"])
        self.assertEqual(echoed["token_logprobs"][-len(scores["tokens"]):],
                         scores["token_logprobs"])

    def test_of_several_prompts_and_choices(self):
        answer = self.scored(prompt=["One, two,", "Red, green,"], n=2, temperature=1, seed=1)
        self.assertEqual(len(answer.choices), 4)
        for choice in answer.choices:
            self.check_form(choice.scores, choice.text, 2)

    def test_echo_of_many_prompts(self):
        answer = both(self, TEXT, model=self.model, prompt=["One", [1, 2, 3]], echo=True, max_tokens=2,
                      temperature=0)
        self.assertTrue(answer.choices[0].text.startswith("One"))
        self.assertTrue(answer.choices[1].text.startswith(
            self.post("/detokenize", {"tokens": [1, 2, 3]})["content"]))


if __name__ == "__main__":
    unittest.main()
