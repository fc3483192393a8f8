"""A running server for the tests of a module, and small ways to talk to it.

The tests of this folder run against build/release/bin/zllm with real clients:

    python -m unittest discover -s test/service -p '*_test.py'

ZLLM_PROGRAM names another program, ZLLM_TEST_MODEL another model (the default is the pulled one).
"""

import atexit
import concurrent.futures
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import threading
import time
import unittest

import httpx

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("ZLLM_PROGRAM", str(ROOT / "build/release/bin/zllm"))
TOOL_TEMPLATE = ROOT / "test/service/tools.jinja"
# What hangs for so long has failed, on however busy a machine; nothing else is measured in time.
GUARD_SECONDS = 300
# Of limits of the server that a test does not ask for: none of them may end what another should.
NEVER = "100000"
_servers = {}


def model():
    """Path of the model; where none is given, the default one, which is pulled once."""
    if "ZLLM_TEST_MODEL" not in os.environ:
        pulled = subprocess.run([PROGRAM, "pull"], capture_output=True, text=True, check=True)
        os.environ["ZLLM_TEST_MODEL"] = pulled.stdout.splitlines()[0]
    return os.environ["ZLLM_TEST_MODEL"]


class Server:
    """A process of `zllm serve` on a free port, ready when the constructor returns."""

    def __init__(self, *options, model_path=None, wait=True, environment=None):
        command = [PROGRAM, "serve", "--port", "0", *options]
        path = model() if model_path is None else str(model_path)
        if path and "--models" not in options:
            command += ["--model", path]
        self.log = []
        self.process = subprocess.Popen(
            command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
            env={**os.environ, **(environment or {})}, start_new_session=True)
        self._listening = threading.Event()
        self.url = None
        self.port = None
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        if not self._listening.wait(GUARD_SECONDS) or self.url is None:
            self.kill()
            raise RuntimeError("the server does not listen: " + "".join(self.log[-20:]))
        if wait:
            self.wait_until_ready()

    def _read(self):
        for line in self.process.stderr:
            self.log.append(line)
            found = re.search(r"listening on (https?)://(.*):(\d+)", line)
            if found and self.url is None:
                self.port = int(found[3])
                self.url = f"{found[1]}://{found[2]}:{self.port}"
                self._listening.set()
        self._listening.set()

    def wait_until_ready(self):
        deadline = time.monotonic() + GUARD_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise RuntimeError("the server ended: " + "".join(self.log[-20:]))
            try:
                if httpx.get(self.url + "/health", verify=False).status_code == 200:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.05)
        raise RuntimeError("the server does not become ready")

    def records(self):
        """The log lines that are JSON, parsed."""
        parsed = []
        for line in list(self.log):
            try:
                parsed.append(json.loads(line))
            except ValueError:
                pass
        return parsed

    def memory_bytes(self):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        return 0

    def stop(self, number=signal.SIGTERM):
        """The exit code after a signal."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(GUARD_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._reader.join(5)
        if not self._reader.is_alive():
            self.process.stderr.close()


def shared_server(*options, **more):
    """One server for everybody who asks for these options; it ends with the tests."""
    key = (options, tuple(sorted(more.items())))
    if key not in _servers:
        _servers[key] = Server(*options, **more)
    return _servers[key]


@atexit.register
def stop_shared_servers():
    while _servers:
        _servers.popitem()[1].kill()


def tool_server():
    """The shared server whose template knows tools. One thread: modules run side by side."""
    return shared_server("--chat-template-file", str(TOOL_TEMPLATE), "--no-request-log",
                         "--threads", "1")


class Case(unittest.TestCase):
    """A test against the shared server with tools."""

    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.server = tool_server()
        cls.http = client_of(cls.server)
        cls.model = cls.http.get("/v1/models").json()["data"][0]["id"]

    @classmethod
    def tearDownClass(cls):
        cls.http.close()

    def post(self, path, body, status=200, **more):
        reply = self.http.post(path, json=body, **more)
        self.assertEqual(reply.status_code, status, reply.text)
        return reply.json()

    def posts(self, path, bodies):
        return at_once(lambda body: self.post(path, body), bodies)

    def chat(self, status=200, **fields):
        body = {"model": self.model, "messages": [user("Hello")], "max_tokens": 8,
                "temperature": 0, **fields}
        return self.post("/v1/chat/completions", body, status)

    def refused(self, path, body, field, status=400):
        """The error of a body that is refused and names the field."""
        error = self.post(path, body, status)["error"]
        self.assertIn(field, f"{error.get('param')} {error['message']}")
        return error

    def events(self, path, body, **more):
        """All server-sent events of a stream as (event, data) with data parsed where it is JSON."""
        with self.http.stream("POST", path, json={**body, "stream": True}, **more) as reply:
            self.assertEqual(reply.status_code, 200, reply.read() if reply.status_code != 200 else "")
            self.assertTrue(reply.headers["content-type"].startswith("text/event-stream"))
            text = "".join(reply.iter_text())
        return parse_events(text)


def client_of(server, **more):
    return httpx.Client(base_url=server.url, timeout=GUARD_SECONDS, **more)


def parse_events(text):
    events = []
    for block in text.split("\n\n"):
        name, data = "", []
        for line in block.split("\n"):
            if line.startswith("event:"):
                name = line[6:].strip()
            elif line.startswith("data:"):
                data.append(line[5:].removeprefix(" "))
        if data:
            joined = "\n".join(data)
            try:
                events.append((name, json.loads(joined)))
            except ValueError:
                events.append((name, joined))
    return events


def user(text):
    return {"role": "user", "content": text}


# Of several there is one that a small model answers shortly and ends by itself, whatever its
# arithmetic.
SHORT_QUESTIONS = ("Answer with one word: what colour is the sky?", "Say hello.", "Name a colour.",
                   "Is fire hot?", "What is your name?", "Name three colours.")


def wait_for(condition):
    deadline = time.monotonic() + GUARD_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError("it does not come true")
        time.sleep(0.01)


def weather_tool(**more):
    return {"type": "function",
            "function": {"name": "get_weather", "description": "The weather of a city",
                         "parameters": {"type": "object",
                                        "properties": {"city": {"type": "string", "maxLength": 20},
                                                       "unit": {"enum": ["C", "F"]}},
                                        "required": ["city", "unit"],
                                        "additionalProperties": False}, **more}}


# JSON that takes more tokens than any answer has.
ENDLESS_SCHEMA = {"type": "object", "required": ["a"], "additionalProperties": False,
                  "properties": {"a": {"type": "array", "items": {"type": "integer"},
                                       "minItems": 2000}}}


def at_once(ask, *arguments, clients=8):
    """ask(...) of each set of arguments, by several clients: the server's batches make it cheaper."""
    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        return list(pool.map(ask, *arguments))


def write_key_file(*keys):
    file = tempfile.NamedTemporaryFile("w", suffix=".keys", delete=False)
    file.write("\n".join(keys) + "\n")
    file.close()
    atexit.register(os.unlink, file.name)
    return file.name
