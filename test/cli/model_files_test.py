import json
import math
import pathlib
import tempfile
import unittest

import tiny_model
from program import FIXTURES, MODELS, run, text


class ModelFiles(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = pathlib.Path(cls.folder.name)
        cls.model = tiny_model.make(cls.path / "tiny")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_inspect_reads_every_fixture(self):
        for folder in sorted(MODELS.iterdir()):
            path = folder / "model.gguf" if (folder / "model.gguf").exists() else folder
            with self.subTest(path):
                result = run("inspect", path, "--json", "--verify")
                self.assertEqual(result.returncode, 0, result.stderr)
                report = json.loads(result.stdout)
                self.assertGreater(report["parameters"], 1000)
                self.assertEqual(report["not_finite"], [])
                self.assertGreater(report["fit"]["context"], 0)
                self.assertEqual(run("inspect", path).returncode, 0)

    def test_verify_names_tensors_that_are_not_finite(self):
        name = "model.layers.0.mlp.up_proj.weight"
        model = tiny_model.make(
            self.path / "bad", replaced={name: {3: math.nan, 4: math.inf, 5: -math.inf}})
        self.assertEqual(run("inspect", model).returncode, 0)
        result = run("inspect", model, "--verify", "--json")
        self.assertEqual(result.returncode, 1)
        self.assertIn(name, text(result.stderr))
        self.assertEqual(json.loads(result.stdout)["not_finite"],
                         [{"name": name, "nan": 1, "infinite": 2}])

    def test_inspect_shows_unknown_architectures(self):
        model = tiny_model.make(self.path / "strange")
        config = json.loads((model / "config.json").read_text())
        config["model_type"] = "strange\x1b[31m"
        (model / "config.json").write_text(json.dumps(config))
        result = run("inspect", model)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn(b"\x1b", result.stdout)
        self.assertIn("strange", text(result.stdout))

    def test_tokenize_and_back(self):
        self.assertEqual(run("tokenize", "--model", self.model).stdout, b"[]\n")
        words = "Hello, w\u00f6rld \U0001f600\n\tend"
        ids = run("tokenize", "--model", self.model, stdin=words)
        self.assertEqual(ids.returncode, 0, ids.stderr)
        self.assertTrue(all(isinstance(i, int) for i in json.loads(ids.stdout)))
        back = run("tokenize", "--model", self.model, "--decode", stdin=ids.stdout)
        self.assertEqual(text(back.stdout), words)

    def test_control_tokens_only_when_asked(self):
        plain = run("tokenize", "--model", self.model, stdin="<|im_end|>")
        parsed = run("tokenize", "--model", self.model, "--parse-special", stdin="<|im_end|>")
        self.assertNotIn(2, json.loads(plain.stdout))
        self.assertEqual(json.loads(parsed.stdout), [2])

    def test_batch(self):
        vectors = json.loads((FIXTURES / "text" / "byte_level.vectors.json").read_text())
        texts = [case["text"] for case in vectors["cases"]][:50]
        lines = "".join(json.dumps(one) + "\n" for one in texts)
        result = run("tokenize", "--model", self.model, "--batch", stdin=lines)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual([json.loads(line) for line in result.stdout.splitlines()],
                         [case["plain"] for case in vectors["cases"]][:50])
        result = run("tokenize", "--model", self.model, "--batch", "--decode",
                     stdin="[1]\n[999999]\n")
        self.assertEqual(result.returncode, 1)
        self.assertIn("line 2", text(result.stderr))
        self.assertIn("999999", text(result.stderr))

    def test_tokenize_needs_the_tokenizer_alone(self):
        folder = self.path / "tokenizer-only"
        folder.mkdir()
        (folder / "tokenizer.json").write_bytes((self.model / "tokenizer.json").read_bytes())
        self.assertEqual(run("tokenize", "--model", folder, stdin="a").returncode, 0)
        result = run("template", "--model", folder, stdin='{"messages": []}')
        self.assertEqual(result.returncode, 1)
        self.assertIn("template", text(result.stderr))

    def test_template_prints_the_prompt_and_nothing_else(self):
        request = {"messages": [{"role": "user", "content": "hi"}]}
        result = run("template", "--model", self.model, stdin=json.dumps(request))
        self.assertEqual(text(result.stdout),
                         "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n")
        result = run("template", "--model", self.model, stdin="not json")
        self.assertEqual((result.returncode, result.stdout), (1, b""))

    def test_a_templates_own_refusal_is_the_error(self):
        model = tiny_model.make(self.path / "picky", template="{{ raise_exception('no cats') }}")
        request = {"messages": [{"role": "user", "content": "cat"}]}
        result = run("template", "--model", model, stdin=json.dumps(request))
        self.assertEqual((result.returncode, result.stdout), (1, b""))
        self.assertIn("no cats", text(result.stderr))
