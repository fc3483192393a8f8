"""Stop strings, wherever they lie on the borders of tokens."""

import unittest

from harness import Case, user
from openai_stream import CHAT, TEXT, both, streamed, whole

ALPHABET = "A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P, Q, R, S, T, U, V, W, X, Y, Z\n" * 2


class Stops(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        case = cls()
        cls.body = {"model": cls.model, "prompt": ALPHABET + "A, B, C,", "max_tokens": 24,
                    "temperature": 0}
        cls.text = whole(case, TEXT, **cls.body).text

    def check(self, stop):
        """An answer that ends before the stop whose end comes first, streamed or not."""
        stops = [stop] if isinstance(stop, str) else stop
        ends = [(self.text.find(s) + len(s), -len(s), s) for s in stops if s in self.text]
        answer = both(self, TEXT, **self.body, stop=stop)
        if not ends:
            self.assertEqual((answer.text, answer.reason), (self.text, "length"))
            return answer
        end, size, _ = min(ends)
        self.assertEqual((answer.text, answer.reason), (self.text[:end + size], "stop"))
        return answer

    def test_the_model_counts_on(self):
        self.assertIn(" D, E, F, G", self.text)

    def test_every_part_of_the_text_is_found(self):
        for begin in range(0, len(self.text) - 12, 4):
            for size in (1, 3, 11):
                with self.subTest(begin=begin, size=size):
                    self.check(self.text[begin:begin + size])

    def test_a_stop_that_begins_within_a_token(self):
        self.assertEqual(self.check(", F, G").text, " D, E")

    def test_a_stop_at_the_very_beginning(self):
        answer = self.check(" D")
        self.assertEqual(answer.text, "")

    def test_what_only_begins_a_stop_is_not_lost(self):
        for size in (1, 2, 4, 7):
            with self.subTest(size=size):
                self.check(self.text[-size:] + "never")

    def test_a_broken_prefix_is_sent(self):
        self.check([", F, H", "E, F, Z", " G, H, never"])

    def test_the_earliest_of_several(self):
        self.check(["H", "F", "J"])
        self.check(["J", "zzz", "G, H"])

    def test_the_longest_of_those_that_end_together(self):
        self.check(["F", "E, F", ", F"])

    def test_one_within_another(self):
        self.check(["E, F, G, H", "F"])

    def test_nothing_is_held_back_without_need(self):
        stream = streamed(self, TEXT, **self.body, stop="zzzzzzzzzzzzzzzz")
        self.assertGreater(len([piece for piece in stream.choices[0].pieces if piece]), 10)

    def test_forms(self):
        for stop in ("F", ["F"], ["F", "F"], ["F", "q", "w", "z"]):
            self.assertEqual(whole(self, TEXT, **self.body, stop=stop).text, " D, E, ")
        for none in (None, []):
            self.assertEqual(whole(self, TEXT, **self.body, stop=none).text, self.text)

    def test_of_each_choice_alone(self):
        body = {**self.body, "temperature": 1, "seed": 3, "n": 4}
        free = both(self, TEXT, **body)
        cut = both(self, TEXT, **body, stop="F")
        for a, b in zip(free.choices, cut.choices):
            self.assertEqual(b.text, a.text.split("F")[0])
            self.assertEqual(b.reason, "stop" if "F" in a.text else a.reason)

    def test_beyond_ascii(self):
        body = {**self.body, "prompt": "Gr\u00fc\u00dfe, Gr\u00fc\u00dfe, Gr\u00fc\u00dfe, Gr\u00fc\u00dfe,"}
        text = whole(self, TEXT, **body).text
        self.assertIn("\u00fc\u00dfe", text)
        answer = both(self, TEXT, **body, stop="\u00dfe")
        self.assertEqual((answer.text, answer.reason), (text[:text.index("\u00dfe")], "stop"))

    def test_stop_tokens(self):
        [token] = self.post("/tokenize", {"content": " F"})["tokens"]
        answer = both(self, TEXT, **self.body, stop_token_ids=[token])
        self.assertEqual((answer.text, answer.reason), (self.text[:self.text.index(" F")], "stop"))

    def test_of_chat(self):
        body = {"model": self.model, "messages": [user("Say: one two three four five.")],
                "max_tokens": 30, "ignore_eos": True, "temperature": 0}
        text = whole(self, CHAT, **body).text
        for begin, size in ((0, 3), (4, 9), (11, 2), (len(text) // 2, 6)):
            stop = text[begin:begin + size]
            with self.subTest(stop=stop):
                answer = both(self, CHAT, **body, stop=[stop, "never"])
                self.assertEqual((answer.text, answer.reason), (text[:text.index(stop)], "stop"))

    def test_with_scores(self):
        """Tokens that make up the stop may be told of, but no text of it."""
        answer = both(self, TEXT, **self.body, stop=", F, G", logprobs=1)
        self.assertEqual(answer.text, " D, E")
        tokens = "".join(answer.choices[0].scores["tokens"])
        self.assertTrue(tokens.startswith(" D, E"))


if __name__ == "__main__":
    unittest.main()
