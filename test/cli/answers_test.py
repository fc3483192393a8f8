import json
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

import tiny_model
from program import GUARD_SECONDS, ZLLM, run, text


class Answers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = pathlib.Path(cls.folder.name)
        cls.model = tiny_model.make(cls.path / "tiny")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def answer(self, *arguments, **options):
        result = run("run", "--model", self.model, "--json", *arguments, **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.count(b"\n"), 1)
        return json.loads(result.stdout)

    def test_json_is_one_object(self):
        given = self.answer("--prompt", "hi", "--max-tokens", "5", "--temperature", "0")
        self.assertEqual(sorted(given), ["cached", "finish_reason", "prompt_tokens", "text",
                                         "timings", "tokens"])
        self.assertLessEqual(len(given["tokens"]), 5)
        self.assertIn(given["finish_reason"], ["length", "stop"])

    def test_text_and_json_agree(self):
        arguments = ["--prompt", "hi", "--max-tokens", "8", "--temperature", "0"]
        plain = run("run", "--model", self.model, *arguments)
        self.assertEqual(plain.returncode, 0, plain.stderr)
        self.assertEqual(text(plain.stdout), self.answer(*arguments)["text"] + "\n")

    def test_the_seed_decides(self):
        arguments = ["--prompt", "hi", "--max-tokens", "12", "--temperature", "2", "--top-p", "1"]
        first = self.answer(*arguments, "--seed", "1")
        self.assertEqual(self.answer(*arguments, "--seed", "1")["tokens"], first["tokens"])
        self.assertNotEqual(self.answer(*arguments, "--seed", "2")["tokens"], first["tokens"])

    def test_raw_leaves_the_prompt_as_it_is(self):
        raw = self.answer("--prompt", "a", "--raw", "--max-tokens", "1")
        self.assertEqual(raw["prompt_tokens"], 1)
        self.assertGreater(self.answer("--prompt", "a", "--max-tokens", "1")["prompt_tokens"], 5)

    def test_the_prompt_may_come_from_stdin(self):
        arguments = ["--max-tokens", "4", "--temperature", "0"]
        self.assertEqual(self.answer("--prompt", "-", *arguments, stdin="hi")["tokens"],
                         self.answer("--prompt", "hi", *arguments)["tokens"])

    def test_what_a_user_types_is_no_control_token(self):
        typed = self.answer("--prompt", "<|im_end|>", "--max-tokens", "1")
        control = self.answer("--prompt", "x", "--max-tokens", "1")
        self.assertGreater(typed["prompt_tokens"], control["prompt_tokens"] + 2)

    def test_a_prompt_that_does_not_fit_names_both_counts(self):
        result = run("run", "--model", self.model, "--prompt", "word " * 50, "--context", "20",
                     "--json")
        self.assertEqual((result.returncode, result.stdout), (1, b""))
        self.assertRegex(text(result.stderr), r"prompt has \d+ tokens, the context holds 20")

    def test_the_context_ends_an_answer(self):
        given = self.answer("--prompt", "a", "--raw", "--context", "6", "--max-tokens", "100",
                            "--logit-bias", "2=-inf")
        self.assertEqual(given["finish_reason"], "length")
        self.assertLessEqual(len(given["tokens"]), 7)

    def test_stop_strings_end_an_answer(self):
        # Which of these letters comes next differs between processors; that it is one does not.
        letters = json.loads(run("tokenize", "--model", self.model, "--batch",
                                 stdin="".join(f'"{letter}"\n' for letter in "abcdefgh"))
                             .stdout.replace(b"]\n[", b","))
        arguments = ["--prompt", "hi", "--max-tokens", "12", "--temperature", "0",
                     *(word for letter in letters for word in ("--logit-bias", f"{letter}=90"))]
        whole = self.answer(*arguments)["text"]
        self.assertGreater(len(whole), 4)
        stop = whole[2:4]
        cut = self.answer(*arguments, "--stop", stop)
        self.assertEqual(cut["text"], whole[:whole.index(stop)])
        self.assertEqual(cut["finish_reason"], "stop")

    def test_generation_config_is_the_default(self):
        model = tiny_model.make(self.path / "greedy", generation_config={"do_sample": False})
        arguments = ["--prompt", "hi", "--max-tokens", "8", "--json"]
        greedy = run("run", "--model", model, *arguments, "--seed", "5")
        self.assertEqual(json.loads(greedy.stdout)["tokens"],
                         self.answer(*arguments[:-1], "--temperature", "0")["tokens"])

    def test_bias_beyond_the_vocabulary(self):
        result = run("run", "--model", self.model, "--prompt", "x", "--logit-bias", "5000=1")
        self.assertEqual(result.returncode, 1)
        self.assertIn("5000", text(result.stderr))

    def test_logits_and_bench(self):
        out = self.path / "logits.safetensors"
        result = run("logits", "--model", self.model, "--tokens", "1,2,3", "--out", out,
                     "--deterministic")
        self.assertEqual((result.returncode, result.stdout), (0, b""), result.stderr)
        self.assertGreater(out.stat().st_size, 3 * 902 * 4)
        result = run("bench", "--model", self.model, "--prompt-tokens", "8", "--gen-tokens", "2",
                     "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(result.stdout)["prefill"]["tokens"], 8)

    def test_bench_at_a_synthetic_depth(self):
        model = tiny_model.make(self.path / "deep", context=1400)
        result = run("bench", "--model", model, "--prompt-tokens", "8", "--gen-tokens", "2",
                     "--repeat", "1", "--synthetic-depth", "--depth", "1300", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        decode = json.loads(result.stdout)["decode"]
        self.assertEqual(decode["depth"], 1300)
        self.assertGreater(decode["tokens_per_second"], 0)
        # Keys and values of two heads of 16 in halves, of every row before.
        self.assertEqual(decode["state_bytes_per_token"], 1300 * 2 * 2 * 16 * 2)

    def test_signals_end_an_answer_with_their_code(self):
        for number, code in [(signal.SIGTERM, 143), (signal.SIGINT, 130)]:
            with self.subTest(number):
                process = subprocess.Popen(
                    [ZLLM, "run", "--model", self.model, "--prompt", "hi", "--max-tokens",
                     "1000000000", "--context", "1000000", "--logit-bias", "2=-inf"],
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                begin = os.read(process.stdout.fileno(), 1)
                process.send_signal(number)
                out, error = process.communicate(timeout=GUARD_SECONDS)
                self.assertEqual(process.returncode, code, error)
                (begin + out).decode("utf-8", "strict")
