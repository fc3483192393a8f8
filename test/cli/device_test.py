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

    def logits(self, *arguments):
        return self.device("logits", "--model", MODELS / "llama-linear", *arguments)

    def test_more_sequences_than_rows_of_a_round(self):
        with tempfile.TemporaryDirectory() as folder:
            many, out = pathlib.Path(folder) / "many.json", pathlib.Path(folder) / "out"
            many.write_text(json.dumps([[i % 50] for i in range(600)]))
            result = self.logits("--sequences", many, "--greedy", "2", "--out", out)
            self.assertEqual(result.returncode, 0, result.stderr)
            many.write_text("[]")
            result = self.logits("--sequences", many, "--out", out)
            self.assertEqual(result.returncode, 1)
            self.assertIn("many.json: has no sequences", text(result.stderr))

    def test_out_replaces_files_and_nothing_else(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "file").write_text("old")
            (folder / "link").symlink_to("file")
            self.assertEqual(self.logits("--tokens", "999", "--out", folder / "link").returncode, 1)
            self.assertEqual((folder / "file").read_text(), "old")
            self.assertEqual(self.logits("--tokens", "1", "--out", folder / "link").returncode, 0)
            self.assertTrue((folder / "link").is_symlink())
            self.assertGreater((folder / "file").stat().st_size, 100)
            self.assertEqual(self.logits("--tokens", "1", "--out", "/dev/null").returncode, 0)
            self.assertTrue(pathlib.Path("/dev/null").is_char_device())
            self.assertEqual(self.logits("--tokens", "1", "--out", "/dev/full").returncode, 1)
            result = self.logits("--tokens", "1", "--out", folder)
            self.assertEqual(result.returncode, 1)
            self.assertIn("is a directory", text(result.stderr))
            self.assertEqual(sorted(path.name for path in folder.iterdir()), ["file", "link"])

    def test_bench(self):
        result = self.device("bench", "--model", MODELS / "llama-linear", "--prompt-tokens", "8",
                             "--gen-tokens", "4", "--depth", "8", "--repeat", "1", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(result.stdout)["decode"]["depth"], 8)

    def conformance(self, *arguments, program=ZLLM_DEVICE):
        return run("conformance", *arguments, program=program)

    def test_conformance_of_given_cases(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "norm.json").write_text(json.dumps(
                {"operator": "norm", "cases": [{"columns": 7, "rows": 2}, {"columns": 9, "rows": 1}]}))
            result = self.conformance("--cases", folder, "--json", "--threads", "1",
                                      "--record", folder / "record")
            self.assertEqual(result.returncode, 0, result.stderr)
            runs = json.loads(result.stdout)["runs"]
            self.assertEqual(runs[0]["instruction_set"], "scalar")
            for one in runs:
                self.assertEqual(one["failures"], [])
                self.assertEqual(one["results"][0]["operator"], "norm")
                self.assertEqual(one["results"][0]["passed"], 2)
                self.assertLess(one["results"][0]["nmse"], one["results"][0]["nmse_bound"])
            recorded = json.loads((folder / "record").read_text())["runs"]
            self.assertEqual([one["instruction_set"] for one in recorded],
                             [one["instruction_set"] for one in runs])
            self.assertRegex(recorded[0]["date"], r"^\d{4}-\d\d-\d\d$")
            same = self.conformance("--cases", folder, "--json", "--threads", "1", program=None)
            self.assertEqual(same.stdout, result.stdout)

    def test_conformance_fails_when_a_case_does(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            cases = folder / "gated_activation.json"
            # The products overflow.
            cases.write_text(json.dumps({"operator": "gated_activation", "cases": [
                {"columns": 64, "rows": 1}, {"columns": 64, "rows": 1, "size": 1e30}]}))
            for program in [ZLLM_DEVICE, None]:
                result = self.conformance("--cases", folder, program=program)
                self.assertEqual(result.returncode, 1)
                self.assertIn("FAILED: cpu (scalar), gated_activation case 1", text(result.stdout))
                self.assertIn("cases failed on backend cpu", text(result.stderr))
            cases.write_text('{"operator": "norm", "cases": [{"columns": 1, "rows": 1, "x": 1}]}')
            result = self.conformance("--cases", folder)
            self.assertEqual(result.returncode, 1)
            self.assertIn("gated_activation.json: case 0: unknown key 'x'", text(result.stderr))
            self.assertIn("'tpu'", text(self.conformance("--backend", "tpu").stderr))
            self.assertEqual(self.conformance("--cases", folder / "none").returncode, 1)
