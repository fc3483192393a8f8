"""Prefixes that are kept: hits, equal answers, caps, the disk; and slots that are given back."""

import json
import pathlib
import random
import shutil
import tempfile
import threading
import time
import unittest

import harness
from wire import Wire, endless_body, request_of

WORDS = ("river stone light garden music winter letter window paper silver morning shadow engine "
         "market forest story summer bridge candle harbour mountain question answer number").split()
OPTIONS = ("--threads", "1", "--no-request-log")


def words(seed, count):
    choose = random.Random(seed)
    return " ".join(choose.choice(WORDS) for _ in range(count))


class Client:
    def __init__(self, *options):
        self.server = harness.Server(*OPTIONS, *options)
        self.http = harness.client_of(self.server)

    def close(self):
        self.http.close()
        self.server.kill()

    def complete(self, prompt, **more):
        reply = self.http.post("/v1/completions", json={
            "prompt": prompt, "max_tokens": 4, "temperature": 0, **more})
        assert reply.status_code == 200, reply.text
        return reply.json()

    def chat(self, *messages, **more):
        reply = self.http.post("/v1/chat/completions", json={
            "messages": list(messages), "max_tokens": 6, "temperature": 0, **more})
        assert reply.status_code == 200, reply.text
        return reply.json()

    def metrics(self):
        values = {}
        for line in self.http.get("/metrics").text.splitlines():
            if line and not line.startswith("#"):
                key, value = line.rsplit(" ", 1)
                values[key.split("{")[0]] = values.get(key.split("{")[0], 0) + float(value)
        return values

    def until(self, condition):
        """The metrics once they fulfil the condition."""
        deadline = time.monotonic() + harness.GUARD_SECONDS
        while not condition(values := self.metrics()):
            if time.monotonic() > deadline:
                raise AssertionError(f"it does not come true: {values}")
            time.sleep(0.005)
        return values


def cached(reply):
    usage = reply["usage"]
    return usage["prompt_tokens_details"]["cached_tokens"], usage["prompt_tokens"]


def idle(values):
    return (values["zllm_running_requests"] == 0 and values["zllm_queued_requests"] == 0 and
            values["zllm_batch_size"] == 0)


class Hits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.client = Client()

    @classmethod
    def tearDownClass(cls):
        cls.client.close()

    def assert_hit(self, reply, share=0.95):
        held, prompt = cached(reply)
        self.assertGreaterEqual(held, share * prompt)
        self.assertLess(held, prompt)  # the last token's logits are computed

    def test_an_identical_request_computes_next_to_nothing_and_answers_the_same(self):
        prompt = words("identical", 500)
        before = self.client.metrics()["zllm_prompt_tokens_computed_total"]
        first = self.client.complete(prompt, max_tokens=16, logprobs=3)
        between = self.client.metrics()["zllm_prompt_tokens_computed_total"]
        second = self.client.complete(prompt, max_tokens=16, logprobs=3)
        after = self.client.metrics()["zllm_prompt_tokens_computed_total"]
        self.assertEqual(cached(first)[0], 0)
        self.assert_hit(second)
        self.assertEqual(first["choices"], second["choices"])  # log-probabilities bit for bit
        self.assertEqual(between - before, cached(first)[1])
        self.assertLess(after - between, 0.05 * cached(first)[1])
        self.assertEqual(after - between, cached(second)[1] - cached(second)[0])

    def test_the_second_turn_computes_the_new_messages_alone(self):
        talk = [{"role": "system", "content": words("turns", 300)}, harness.user("Hello")]
        first = self.client.chat(*talk, max_tokens=20)
        talk += [first["choices"][0]["message"], harness.user("And now?")]
        second = self.client.chat(*talk)
        self.assertGreaterEqual(cached(second)[0], cached(first)[1])
        cold = self.client.chat(*talk, cache_prompt=False)
        self.assertEqual(cached(cold)[0], 0)
        self.assertEqual(cold["choices"], second["choices"])

    def test_two_users_share_a_system_prompt(self):
        system = {"role": "system", "content": words("shared", 300)}
        self.client.chat(system, harness.user("first user's own words"))
        other = self.client.chat(system, harness.user("an other question of somebody else"))
        self.assert_hit(other, 0.9)
        cold = self.client.chat(system, harness.user("an other question of somebody else"),
                                cache_prompt=False)
        self.assertEqual(cold["choices"], other["choices"])

    def test_requests_at_once_share_a_start_too(self):
        start = words("at once", 400)
        bodies = [start + f" ending {i}" for i in range(6)]
        replies = harness.at_once(self.client.complete, bodies)
        misses = [i for i, reply in enumerate(replies) if cached(reply)[0] < 0.9 * cached(reply)[1]]
        self.assertEqual(len(misses), 1)
        for body, reply in zip(bodies, replies):
            cold = self.client.complete(body, cache_prompt=False)
            self.assertEqual(cold["choices"], reply["choices"])

    def test_other_dialects_tell_of_hits(self):
        text = words("dialects", 200)
        self.client.http.post("/v1/responses", json={"input": text, "max_output_tokens": 16})
        usage = self.client.http.post("/v1/responses", json={
            "input": text, "max_output_tokens": 16}).json()["usage"]
        self.assertGreaterEqual(usage["input_tokens_details"]["cached_tokens"],
                                0.95 * usage["input_tokens"])
        message = {"model": "default", "messages": [harness.user(text + " more")],
                   "max_tokens": 4}
        first = self.client.http.post("/v1/messages", json=message)
        self.assertEqual(first.status_code, 200, first.text)
        usage = self.client.http.post("/v1/messages", json=message).json()["usage"]
        # input_tokens are those that were not read from the cache.
        self.assertGreater(usage["cache_read_input_tokens"], 19 * usage["input_tokens"])

    def test_choices_share_one_prompt(self):
        before = self.client.metrics()["zllm_prompt_tokens_computed_total"]
        reply = self.client.complete(words("choices", 200), n=4, temperature=1, seed=3)
        after = self.client.metrics()["zllm_prompt_tokens_computed_total"]
        self.assertEqual(after - before, reply["usage"]["prompt_tokens"])
        again = self.client.complete(words("choices", 200), n=4, temperature=1, seed=3)
        self.assertEqual(reply["choices"], again["choices"])


class Caps(unittest.TestCase):
    def test_the_bytes_of_cached_prefixes_have_a_limit_that_holds(self):
        limit = 4 << 20
        client = Client("--prefix-cache-bytes", str(limit))
        self.addCleanup(client.close)
        most = 0
        for i in range(100):
            client.complete(words(f"cap {i}", 10 + i % 20), max_tokens=1)
            if i % 10 == 9:
                most = max(most, client.metrics()["zllm_prefix_cache_bytes"])
        self.assertLessEqual(most, 1.02 * limit)
        self.assertGreater(most, 0.5 * limit)
        self.assertGreater(client.metrics()["zllm_prefix_cache_evictions_total"], 0)

    def test_a_cache_that_is_always_full_answers_everybody(self):
        client = Client("--context", "256", "--cache-tokens", "512")
        self.addCleanup(client.close)

        def ask(number):
            for i in range(50):
                client.complete(words(f"{number} {i}", 20 + i % 60), max_tokens=2)

        harness.at_once(ask, range(2))
        self.assertEqual(client.http.get("/ready").status_code, 200)
        client.until(idle)

    def test_without_a_cache_all_pages_return(self):
        client = Client("--context", "512", "--cache-tokens", "1024", "--no-prefix-cache")
        self.addCleanup(client.close)
        first = client.complete(words("none", 100))
        second = client.complete(words("none", 100))
        self.assertEqual((cached(first)[0], cached(second)[0]), (0, 0))
        values = client.until(idle)
        self.assertEqual(values["zllm_cache_used_rows"], 0)


class Disk(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def start(self):
        client = Client("--prefix-cache-folder", str(self.folder))
        self.addCleanup(client.close)
        return client

    def files(self):
        return [path for path in self.folder.rglob("*") if path.is_file()]

    def test_prefixes_outlive_the_process_and_broken_files_are_ignored(self):
        prompt = words("disk", 300)
        client = self.start()
        first = client.complete(prompt, max_tokens=12, logprobs=2)
        self.assertEqual(client.server.stop(), 0)
        self.assertTrue(self.files())

        client = self.start()
        second = client.complete(prompt, max_tokens=12, logprobs=2)
        self.assertEqual(client.server.stop(), 0)
        self.assertEqual(second["choices"], first["choices"])
        self.assertGreaterEqual(cached(second)[0], 0.9 * cached(second)[1])

        for path in self.files():
            data = bytearray(path.read_bytes())
            for at in range(len(data) // 2, len(data), 97):
                data[at] ^= 0x55
            path.write_bytes(data)
        client = self.start()
        third = client.complete(prompt, max_tokens=12, logprobs=2)
        self.assertEqual(third["choices"], first["choices"])
        self.assertEqual(cached(third)[0], 0)
        client.server.stop()

        for path in self.files():
            path.write_bytes(path.read_bytes()[:100])
        (self.folder / "strange").write_bytes(b"not a prefix")
        client = self.start()
        self.assertEqual(client.complete(prompt, max_tokens=12, logprobs=2)["choices"],
                         first["choices"])


class Slots(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.client = Client("--max-concurrent", "1", "--queue-length", "1")

    @classmethod
    def tearDownClass(cls):
        cls.client.close()

    def tearDown(self):
        self.client.until(idle)

    def ask(self, body):
        """The connection of a request, which closes with the test if not before."""
        wire = Wire(self.client.server.port)
        self.addCleanup(wire.close)
        wire.send(request_of("POST", "/v1/chat/completions", body))
        return wire

    def run_endlessly(self):
        running = self.ask(endless_body())
        self.client.until(lambda v: v["zllm_running_requests"] == 1)
        return running

    def wait_behind(self):
        waiting = self.ask(json.dumps({"messages": [harness.user(words("waits", 50))],
                                       "max_tokens": 4}))
        self.client.until(lambda v: v["zllm_queued_requests"] == 1)
        return waiting

    def test_a_full_queue_says_when_to_come_again(self):
        running = self.run_endlessly()
        waiting = self.wait_behind()
        for path, body in (("/v1/chat/completions", {"messages": [harness.user("x")]}),
                           ("/v1/completions", {"prompt": "x"}),
                           ("/v1/responses", {"input": "x"}),
                           ("/v1/messages", {"model": "default", "messages": [harness.user("x")],
                                     "max_tokens": 4})):
            for stream in (False, True):
                reply = self.client.http.post(path, json={**body, "stream": stream})
                self.assertEqual(reply.status_code, 429, path)
                self.assertGreaterEqual(int(reply.headers["retry-after"]), 1)
                self.assertIn("error", reply.json())
        running.close()
        self.assertEqual(waiting.answer().status, 200)

    def test_who_leaves_frees_the_slot(self):
        self.run_endlessly().close()
        self.client.until(idle)

    def test_who_leaves_the_queue_is_never_computed(self):
        computed = "zllm_prompt_tokens_computed_total"
        empty = self.client.metrics()[computed]
        running = self.run_endlessly()
        before = self.client.until(lambda v: v[computed] > empty)[computed]
        self.wait_behind().close()
        self.client.until(lambda v: v["zllm_queued_requests"] == 0)
        self.assertEqual(self.client.metrics()["zllm_running_requests"], 1)
        running.close()
        self.assertEqual(self.client.until(idle)[computed], before)


class Stalls(unittest.TestCase):
    def test_a_long_prompt_does_not_stop_running_answers(self):
        client = Client("--context", "8192", "--prefill-budget", "64", "--no-prefix-cache")
        self.addCleanup(client.close)
        # An answer ends while a prompt that began after it is still read, in part. How much of the
        # prompt there is to see depends on how soon the client looks: it may have to look again.
        for _ in range(20):
            if self.ends_within_the_prompt(client):
                return
        self.fail("prompts are read at once")

    def ends_within_the_prompt(self, client):
        computed = "zllm_prompt_tokens_computed_total"
        before = client.until(idle)[computed]
        request = client.http.build_request("POST", "/v1/completions", json={
            "prompt": words("running", 10), "max_tokens": 20, "ignore_eos": True, "stream": True})
        running = client.http.send(request, stream=True)
        replies = []
        thread = threading.Thread(target=lambda: replies.append(
            client.complete(words("long", 3900), max_tokens=1)))
        thread.start()
        self.assertTrue(running.read().endswith(b"data: [DONE]\n\n"))
        during = client.metrics()[computed]
        thread.join()
        own = client.until(idle)[computed] - before - replies[0]["usage"]["prompt_tokens"]
        return 0 < during - before - own < replies[0]["usage"]["prompt_tokens"]


if __name__ == "__main__":
    unittest.main()
