import json
import unittest

from program import COMMANDS, run, text


class CommandLine(unittest.TestCase):
    def test_every_command_explains_itself(self):
        self.assertIn("run", text(run("--help").stdout))
        for command in COMMANDS:
            with self.subTest(command):
                result = run(command, "--help")
                self.assertEqual(result.returncode, 0)
                self.assertIn("--help", text(result.stdout))
                self.assertEqual(result.stderr, b"")

    def test_version(self):
        result = run("--version")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(text(result.stdout), r"^zllm \d+\.\d+\.\d+\n$")

    def expect_usage_error(self, arguments, *parts):
        result = run(*arguments)
        self.assertEqual(result.returncode, 2, arguments)
        self.assertEqual(result.stdout, b"")
        message = text(result.stderr)
        self.assertTrue(message.startswith("zllm: "), message)
        for part in parts:
            self.assertIn(part, message)

    def test_unknown_words_are_refused_with_the_nearest_known_one(self):
        self.expect_usage_error(["frun"], "unknown command 'frun'", "did you mean run?")
        self.expect_usage_error(["run", "--promt", "x"], "--promt", "did you mean --prompt?")
        self.expect_usage_error(["run", "--max_tokens=3"], "did you mean --max-tokens?")
        self.expect_usage_error(["run", "zzzzzzzzzzzzzz"], "unexpected 'zzzzzzzzzzzzzz'")
        self.expect_usage_error([], "no command")

    def test_values_out_of_range_are_refused_by_name(self):
        for arguments, part in [
            (["--temperature", "-1"], "--temperature: '-1' is not a number from 0 to 100"),
            (["--temperature", "nan"], "--temperature"),
            (["--top-p", "0"], "--top-p"),
            (["--top-p", "1.5"], "--top-p"),
            (["--top-k", "-2"], "--top-k"),
            (["--min-p", "2"], "--min-p"),
            (["--typical-p", "0"], "--typical-p"),
            (["--repetition-penalty", "0"], "--repetition-penalty"),
            (["--presence-penalty", "1e9"], "--presence-penalty"),
            (["--penalty-last-n", "-2"], "--penalty-last-n"),
            (["--max-tokens", "0"], "--max-tokens"),
            (["--max-tokens", "x"], "--max-tokens: 'x' is not an integer"),
            (["--logit-bias", "5"], "id=value"),
            (["--logit-bias", "5=1000"], "bias"),
            (["--kv-type", "f8"], "--kv-type: 'f8' is not one of f32|f16"),
            (["--seed", "-1"], "--seed"),
        ]:
            with self.subTest(arguments):
                self.expect_usage_error(["run", "--prompt", "x", *arguments], part)

    def test_doctor_and_capabilities(self):
        result = run("doctor")
        self.assertEqual(result.returncode, 0)
        for part in ["processor", "memory", "build", "models"]:
            self.assertIn(part, text(result.stdout))
        result = run("capabilities", "--json")
        self.assertEqual(result.returncode, 0)
        matrix = json.loads(result.stdout)["matrix"]
        self.assertIn("llama", matrix[0]["models"])
        self.assertIn("F32", matrix[0]["operations"]["linear"]["encodings"])
        self.assertIn("Q8_0", matrix[0]["models"]["llama"]["tested_encodings"])
        operations = {name for family in matrix for name in family["operations"]}
        self.assertLessEqual({"delta_rule", "select_pools", "route", "experts"}, operations)
        for family in matrix:
            self.assertRegex(family["conformance_date"], r"^\d{4}-\d\d-\d\d$")
            for operation in family["operations"].values():
                self.assertTrue(all(operation["tested_cases"].values()))
        result = run("capabilities")
        self.assertEqual(result.returncode, 0)
        self.assertIn("logits tested against transformers", text(result.stdout))
        self.assertNotIn("no record", text(result.stdout))

    def test_a_model_that_is_not_there(self):
        for arguments in [
            ["run", "--prompt", "x", "--model", "/nowhere/model"],
            ["inspect", "/nowhere/model"],
            ["tokenize", "--model", "/nowhere/model"],
            ["template", "--model", "/nowhere/model"],
            ["bench", "--model", "/nowhere/model"],
        ]:
            with self.subTest(arguments):
                result = run(*arguments)
                self.assertEqual(result.returncode, 1)
                self.assertIn("/nowhere/model", text(result.stderr))
                self.assertEqual(result.stdout, b"")

    def test_a_full_disk_is_an_error(self):
        import os
        import subprocess
        with open("/dev/full", "wb") as full:
            result = subprocess.run(
                [os.environ["ZLLM"], "doctor"], stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"cannot write", result.stderr)
