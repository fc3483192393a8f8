import hashlib
import http.server
import json
import pathlib
import tempfile
import threading
import unittest

import tiny_model
from program import run, text


class Hub(http.server.BaseHTTPRequestHandler):
    """An imitation of the Hub's two paths, with ranges."""

    files = {}  # name -> bytes
    listed = {}  # name -> SHA-256 that the list states
    ranges = []

    def do_GET(self):
        path = self.path.split("?")[0]
        if path == "/api/models/some/model/tree/main":
            entries = [
                {"type": "file", "path": name, "size": len(data), "oid": "0",
                 **({"lfs": {"oid": self.listed[name]}} if name in self.listed else {})}
                for name, data in self.files.items()]
            return self.reply(json.dumps(entries).encode())
        name = path.removeprefix("/some/model/resolve/main/")
        return self.reply(self.files[name]) if name in self.files else self.send_error(404)

    def reply(self, data):
        start = 0
        asked = self.headers.get("Range", "")
        if asked:
            start = int(asked.removeprefix("bytes=").split("-")[0])
            self.ranges.append(start)
        self.send_response(206 if asked else 200)
        self.send_header("Content-Length", str(len(data) - start))
        if asked:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        self.end_headers()
        self.wfile.write(data[start:])

    def log_message(self, *_):
        pass


class Pull(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        path = pathlib.Path(self.folder.name)
        model = tiny_model.make(path / "source")
        Hub.files = {file.name: file.read_bytes() for file in model.iterdir()}
        Hub.files["pytorch_model.bin"] = b"never fetched"
        weights = hashlib.sha256(Hub.files["model.safetensors"]).hexdigest()
        Hub.listed, Hub.ranges = {"model.safetensors": weights}, []
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.cache = path / "cache"
        self.models = self.cache / "zllm" / "models"
        self.environment = {
            "XDG_CACHE_HOME": str(self.cache), "no_proxy": "*",
            "HF_ENDPOINT": f"http://127.0.0.1:{self.server.server_port}/"}

    def tearDown(self):
        self.server.shutdown()
        self.server.server_close()
        self.folder.cleanup()

    def pull(self, name="some/model"):
        return run("pull", name, environment=self.environment)

    def test_a_model_is_fetched_once_and_runs(self):
        result = self.pull()
        self.assertEqual(result.returncode, 0, result.stderr)
        path = pathlib.Path(text(result.stdout).strip())
        self.assertEqual(path, self.models / "some--model")
        self.assertFalse((path / "pytorch_model.bin").exists())
        self.assertEqual(sorted(file.name for file in path.iterdir()),
                         ["config.json", "model.safetensors", "tokenizer.json",
                          "tokenizer_config.json"])
        self.assertEqual(self.pull().stdout, result.stdout)
        given = run("run", "--model", "some/model", "--prompt", "x", "--max-tokens", "1",
                    environment=self.environment)
        self.assertEqual(given.returncode, 0, given.stderr)

    def test_a_download_goes_on_where_it_stopped(self):
        part = self.models / "some--model.part"
        part.mkdir(parents=True)
        (part / "model.safetensors").write_bytes(Hub.files["model.safetensors"][:1000])
        result = self.pull()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(1000, Hub.ranges)

    def test_a_wrong_checksum_is_refused(self):
        Hub.listed["model.safetensors"] = "0" * 64
        result = self.pull()
        self.assertEqual((result.returncode, result.stdout), (1, b""))
        self.assertIn("SHA-256", text(result.stderr))
        self.assertFalse((self.models / "some--model").exists())

    def test_names_and_addresses(self):
        self.assertEqual(self.pull("other/model").returncode, 1)
        for name in ["../x", "a/../b", "a b/c", "nothing"]:
            with self.subTest(name):
                result = self.pull(name)
                self.assertEqual(result.returncode, 1)
                self.assertIn("owner/name", text(result.stderr))
        self.environment["HF_ENDPOINT"] = ""
        result = self.pull()
        self.assertEqual(result.returncode, 1)
        self.assertIn("HF_ENDPOINT", text(result.stderr))

    def test_the_default_model_counts_only_with_size_and_stamp(self):
        self.models.mkdir(parents=True)
        model = self.models / "SmolLM2-135M-Instruct.Q4_1.gguf"
        model.write_bytes(b"not it")
        pathlib.Path(str(model) + ".sha256").write_text("b179c952\n")
        result = run("run", "--prompt", "x", environment=self.environment)
        self.assertEqual(result.returncode, 1)
        self.assertIn("zllm pull", text(result.stderr))
