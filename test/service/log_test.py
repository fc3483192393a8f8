"""The log of a service when nobody reads it: it holds no request and no end up."""

import json
import os
import re
import signal
import subprocess
import threading
import types
import unittest

import httpx

from harness import PROGRAM, model
from wire import OwnServerCase, chat_body, head_of

CHAT = "/v1/chat/completions"
# Paths of about as many bytes as a target may have fill the log soon.
LONG = "x" * 8000
REQUESTS = 700  # more than a pipe and the queue behind it hold of such lines
FEW = 20        # more than a pipe holds
LOST = re.compile(r"^zllm_log_lines_lost_total (\d+)$", re.MULTILINE)


class UnreadLogTest(OwnServerCase):
    """Each test has a server of its own, whose log is read up to the line that says it is ready."""

    def start(self, waits):
        reading, writing = os.pipe()
        os.set_blocking(writing, waits)
        self.process = subprocess.Popen(
            [PROGRAM, "serve", "--port", "0", "--threads", "1", "--model", model()],
            stderr=writing, stdout=subprocess.DEVNULL, start_new_session=True)
        os.close(writing)
        self.log = os.fdopen(reading, "rb")
        self.addCleanup(self.log.close)
        self.addCleanup(self.process.wait)
        self.addCleanup(self.process.kill)
        self.records = []
        while not self.records or self.records[-1]["event"] != "ready":
            self.records.append(json.loads(self.log.readline()))
        message = next(record["message"] for record in self.records
                       if record["event"] == "listening")
        self.server = types.SimpleNamespace(port=int(message.rpartition(":")[2]))
        self.http = httpx.Client(base_url=f"http://127.0.0.1:{self.server.port}", timeout=60)
        self.addCleanup(self.http.close)

    def ask_at_length(self, count):
        wire = self.wire()
        for index in range(count):
            wire.send(head_of("GET", f"/{index}/{LONG}"))
            self.assertEqual(wire.answer().status, 404)

    def read_on(self):
        """Lets a thread read all there is; it ends when the server has."""
        def read():
            for line in self.log:
                self.records.append(json.loads(line))

        thread = threading.Thread(target=read, daemon=True)
        thread.start()
        return thread

    def notices(self):
        return [record for record in list(self.records) if record["event"] == "log_lines_lost"]

    def test_every_request_is_answered_and_what_is_lost_is_told(self):
        for waits in (True, False):
            with self.subTest(waits=waits):
                self.start(waits)
                self.ask_at_length(REQUESTS)
                self.assertEqual(self.http.post(CHAT, content=chat_body()).status_code, 200)
                self.assertGreater(int(LOST.search(self.http.get("/metrics").text)[1]), 0)
                reader = self.read_on()
                self.wait_for(self.notices)
                lost = int(LOST.search(self.http.get("/metrics").text)[1])
                self.process.send_signal(signal.SIGTERM)
                self.assertEqual(self.process.wait(30), 0)
                reader.join()
                self.assertEqual(self.records[-1]["event"], "stopped")
                for notice in self.notices():
                    self.assertEqual(notice["level"], "warning")
                    self.assertIn(str(notice["lines"]), notice["message"])
                self.assertEqual(sum(notice["lines"] for notice in self.notices()), lost)
                kept = [record for record in self.records if record["event"] == "request"]
                self.assertEqual(len(kept) + lost, REQUESTS + 3)
                numbers = [int(record["path"].split("/")[1]) for record in kept
                           if LONG in record["path"]]
                self.assertEqual(numbers, list(range(len(numbers))))

    def test_the_server_ends_all_the_same(self):
        self.start(True)
        self.ask_at_length(FEW)
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.process.wait(30), 0)


if __name__ == "__main__":
    unittest.main()
