"""Answers that are put aside for others: who leaves or is late just then harms nobody."""

import json
import random
import unittest

import harness
from wire import Wire, request_of

PATH = "/v1/completions"
CONTEXT = 256
ATTEMPTS = 20
WORDS = ("river stone light garden music winter letter window paper silver morning shadow engine "
         "market forest story summer bridge candle harbour mountain question answer number").split()
# One place, and pages for one answer of full length. No buffer holds an answer up.
OPTIONS = ("--threads", "1", "--no-request-log", "--context", str(CONTEXT), "--cache-tokens",
           str(CONTEXT), "--max-concurrent", "1", "--max-buffer-bytes", str(1 << 30),
           "--write-timeout", harness.NEVER)


def body_of(seed, **fields):
    prompt = " ".join(random.Random(seed).choices(WORDS, k=12))
    return {"prompt": prompt, "max_tokens": 60, "temperature": 0, "ignore_eos": True, **fields}


# Takes the place for minutes: when a choice has filled the context, the next one begins.
ENDLESS = {"max_tokens": CONTEXT, "n": 128}


class Stream:
    """A stream that has begun, if there was time: its first piece was sent."""

    def __init__(self, port, body):
        self.wire = Wire(port)
        self.wire.send(request_of("POST", PATH, json.dumps({**body, "stream": True})))
        self.text = self.wire.chunk().decode() if self.wire.head().status == 200 else ""

    def close(self):
        self.wire.close()

    def events(self):
        """All of them; waits for the end."""
        while piece := self.wire.chunk():
            self.text += piece.decode()
        return [data for _, data in harness.parse_events(self.text) if data != "[DONE]"]

    def answer(self):
        return "".join(choice["text"] for data in self.events() for choice in data["choices"])


class Preempted(unittest.TestCase):
    """A long answer (low) is put aside for another one (victim), and that for a third (high)."""

    options = ("--no-prefix-cache",)

    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server(*OPTIONS, *cls.options)
        cls.http = harness.client_of(cls.server)
        cls.alone = {seed: cls.complete(seed) for seed in ("low", "highest")}

    @classmethod
    def tearDownClass(cls):
        cls.http.close()
        cls.server.kill()

    @classmethod
    def complete(cls, seed, **fields):
        reply = cls.http.post(PATH, json=body_of(seed, **fields))
        assert reply.status_code == 200, reply.text
        return reply.json()["choices"][0]["text"]

    def metrics(self):
        """Those of one moment."""
        lines = self.http.get("/metrics").text.splitlines()
        pairs = [line.rsplit(" ", 1) for line in lines if not line.startswith("#")]
        return {key.split("{")[0]: float(value) for key, value in pairs}

    def begin(self, seed, **fields):
        stream = Stream(self.server.port, body_of(seed, **fields))
        self.addCleanup(stream.close)
        return stream

    def are_put_aside(self, before):
        """Whether two answers wait for the third to give their place back."""
        now = self.metrics()
        return (now["zllm_running_requests"] == 3 and now["zllm_batch_size"] == 1
                and now["zllm_preemptions_total"] == before["zllm_preemptions_total"] + 2)

    def wait_for_only(self, count, before):
        """Waits until so many requests are left. Nobody but the third was computed meanwhile."""

        def is_so():
            self.now = self.metrics()
            return self.now["zllm_running_requests"] == count

        harness.wait_for(is_so)
        self.assertEqual(self.now["zllm_preemptions_total"], before["zllm_preemptions_total"] + 2)

    def put_aside(self, seconds=300):
        """The metrics before, and the three streams, of which the first two are put aside. Who looks
        late may find one of them ended, and tries again with more time."""
        for attempt in range(ATTEMPTS):
            self.wait_until_idle()
            before = self.metrics()
            streams = [self.begin("low"),
                       self.begin("victim", **ENDLESS, priority=1,
                                  time_limit_seconds=min(seconds * 2**attempt, 3600)),
                       self.begin("high", **ENDLESS, priority=2)]
            if self.are_put_aside(before):
                return before, *streams
            for stream in streams:
                stream.close()
        self.fail("no answer is put aside")

    def wait_until_idle(self):
        def is_idle():
            self.now = self.metrics()
            return not any(self.now[name] for name in (
                "zllm_running_requests", "zllm_queued_requests", "zllm_batch_size"))

        harness.wait_for(is_idle)

    def check_pages(self):
        self.assertEqual(self.now["zllm_cache_used_rows"], 0)

    def finish(self, low, high):
        """The other answers are as if nothing had been, and everything is given back."""
        self.assertEqual(self.complete("highest", priority=3), self.alone["highest"])
        high.close()
        self.assertEqual(low.answer(), self.alone["low"])
        self.wait_until_idle()
        self.check_pages()

    def test_a_client_leaves(self):
        before, low, victim, high = self.put_aside()
        victim.close()
        self.wait_for_only(2, before)
        self.assertEqual(self.now["zllm_cancelled_requests_total"],
                         before["zllm_cancelled_requests_total"] + 1)
        self.finish(low, high)

    def test_its_time_is_over(self):
        before, low, victim, high = self.put_aside(seconds=0.25)
        self.assertEqual(victim.events()[-1]["error"]["code"], "deadline_exceeded")
        self.wait_for_only(2, before)
        self.assertEqual(self.now["zllm_failed_requests_total"],
                         before["zllm_failed_requests_total"] + 1)
        self.finish(low, high)


class PreemptedIntoTheSwap(Preempted):
    options = ("--no-prefix-cache", "--swap-bytes", str(64 << 20))


class PreemptedIntoTheCache(Preempted):
    options = ()

    def check_pages(self):
        """What is cached makes room: an answer that needs every page gets them."""
        self.complete("all", max_tokens=CONTEXT)


if __name__ == "__main__":
    unittest.main()
