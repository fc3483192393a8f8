import pathlib
import tempfile
import unittest

from program import run, text


class Config(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.file = pathlib.Path(self.folder.name) / "zllm.yaml"

    def tearDown(self):
        self.folder.cleanup()

    def check(self, yaml, *flags):
        self.file.write_text(yaml)
        return run("run", "--config", self.file, *flags)

    def expect_error(self, yaml, *parts):
        result = self.check(yaml, "--check-config")
        self.assertEqual(result.returncode, 2, yaml)
        for part in parts:
            self.assertIn(part, text(result.stderr))

    def test_errors_name_file_line_and_key(self):
        file = str(self.file)
        self.expect_error("seed: 1\ntemprature: 1\n", file + ":2", "'temprature'", "'temperature'")
        self.expect_error("temperature: -1\n", file + ":1: temperature", "from 0 to 100")
        self.expect_error("max-tokens: [1]\n", "max-tokens", "must be one value")
        self.expect_error("max-tokens: '5'\n", "must be a number")
        self.expect_error("raw: yes please\n", "raw", "neither true nor false")
        self.expect_error("stop: x\n", "stop", "must be a list")
        self.expect_error("seed:\n", "seed", "has no value")
        self.expect_error("seed: 1\nseed: 2\n", file + ":2", "set twice")
        self.expect_error("- a\n", "must be a map")
        self.expect_error("a: [\n", "not YAML")
        self.expect_error("kv-type: f8\n", "not one of f32|f16")
        self.expect_error("logit-bias: ['7=500']\n", "bias")

    def test_a_file_that_is_not_there(self):
        result = run("run", "--config", self.file, "--check-config")
        self.assertEqual(result.returncode, 2)
        self.assertIn(str(self.file), text(result.stderr))

    def test_what_is_printed_reads_back(self):
        yaml = "temperature: 0.5\nseed: 7\nstop: ['a: b', \"\\n\"]\nprompt: 'x # y'\nraw: true\n"
        first = self.check(yaml, "--print-effective-config", "--max-tokens", "9")
        self.assertEqual(first.returncode, 0, first.stderr)
        printed = text(first.stdout)
        for part in ["temperature: 0.5", "seed: 7", "max-tokens: 9", "raw: true"]:
            self.assertIn(part, printed)
        second = self.check(printed, "--print-effective-config")
        self.assertEqual(text(second.stdout), printed)

    def test_flags_override(self):
        result = self.check("seed: 7\nstop: [a]\n", "--print-effective-config", "--seed", "8",
                            "--stop", "b", "--stop", "c")
        self.assertIn("seed: 8", text(result.stdout))
        self.assertIn('stop: ["b", "c"]', text(result.stdout))

    def test_an_empty_file_changes_nothing(self):
        result = self.check("# nothing\n", "--check-config")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"", b""))

    def test_chat_and_bench_take_files_too(self):
        for command, yaml in [("chat", "system: x\n"), ("bench", "repeat: 2\n")]:
            self.file.write_text(yaml)
            result = run(command, "--config", self.file, "--check-config")
            self.assertEqual(result.returncode, 0, result.stderr)
