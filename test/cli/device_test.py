import json
import pathlib
import tempfile
import unittest

from program import MODELS, ZLLM_DEVICE, run, text


class Device(unittest.TestCase):
    def device(self, *arguments):
        return run(*arguments, program=ZLLM_DEVICE)

    def test_it_explains_itself(self):
        self.assertEqual(self.device("--help").returncode, 0)
        self.assertEqual(self.device("logits", "--help").returncode, 0)
        self.assertEqual(self.device().returncode, 2)
        result = self.device("bench", "--wrong", "1")
        self.assertEqual(result.returncode, 1)
        self.assertIn("'--wrong'", text(result.stderr))

    def test_logits_are_those_of_zllm(self):
        with tempfile.TemporaryDirectory() as folder:
            files = [pathlib.Path(folder) / name for name in ["a", "b"]]
            arguments = ["logits", "--model", MODELS / "llama-linear", "--tokens", "1,5,9",
                         "--greedy", "3", "--out"]
            self.assertEqual(self.device(*arguments, files[0]).returncode, 0)
            self.assertEqual(run(*arguments, files[1]).returncode, 0)
            self.assertEqual(files[0].read_bytes(), files[1].read_bytes())

    def test_bench(self):
        result = self.device("bench", "--model", MODELS / "llama-linear", "--prompt-tokens", "8",
                             "--gen-tokens", "4", "--depth", "8", "--repeat", "1", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(result.stdout)["decode"]["depth"], 8)
