"""How long an answer outlives its client, over HTTP/1.1, 2 and 3.

    python bench/disconnect_bench.py --program ZLLM --model GGUF [--count N] [--threads N]

The time runs from the client's leaving (a closed socket, RST_STREAM, STOP_SENDING) until /metrics
tells that nothing runs: the network's notice, the end of the round that was on its way and the
pages' release. Clients leave while an answer is decoded and while a long prompt is computed. Needs
what test/service/requirements.txt lists.
"""

import argparse
import asyncio
import json
import os
import pathlib
import random
import re
import ssl
import statistics
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tools/check"), str(ROOT / "test/service")]

import harness  # noqa: E402
from http1_client import connect, read_response  # noqa: E402
from http2_client import Http2  # noqa: E402
from http3_client import connected  # noqa: E402
from http_server import write_certificate  # noqa: E402

PATH = "/v1/completions"
PROMPT_WORDS = 1500
LONGEST = 10  # seconds after which the server is taken for broken


class Server(harness.Server):
    def __init__(self, options, folder):
        self.folder = folder
        write_certificate(folder)
        super().__init__("--threads", str(options.threads), "--no-prefix-cache", "--no-request-log",
                         "--tls-certificate", str(folder / "certificate.pem"),
                         "--tls-key", str(folder / "key.pem"), model_path=options.model)
        self.watch = self.tls()
        self.stream = self.watch.makefile("rb")

    def context(self):
        return ssl.create_default_context(cafile=self.folder / "certificate.pem")

    def tls(self):
        return self.context().wrap_socket(connect(self), server_hostname="localhost")

    def running(self):
        self.watch.sendall(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n")
        text = read_response(self.stream)[2].decode()
        return int(re.search(r"^zllm_running_requests\{.*\} (\d+)", text, re.M)[1])

    def seconds_until(self, count):
        begin = time.perf_counter()
        while self.running() != count:
            if time.perf_counter() - begin > LONGEST:
                sys.exit(f"after {LONGEST} s there are not {count} running requests")
        return time.perf_counter() - begin


def body(what):
    choose = random.Random()
    words = PROMPT_WORDS if what == "prompt" else 3
    prompt = " ".join(choose.choice(("river", "stone", "light", "garden")) for _ in range(words))
    return json.dumps({"prompt": prompt, "max_tokens": 4000, "ignore_eos": True,
                       "stream": True}).encode()


def leave_http1(server, what, pause):
    text = body(what)
    with server.tls() as raw:
        raw.sendall(b"POST %s HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n"
                    % (PATH.encode(), len(text)) + text)
        server.seconds_until(1)
        time.sleep(pause)
    return server.seconds_until(0)


def leave_http2(server, what, pause):
    with Http2(server.port, server.context()) as client:
        stream = client.request("POST", PATH, body(what))
        server.seconds_until(1)
        time.sleep(pause)
        client.reset(stream)
        return server.seconds_until(0)


def leave_http3(server, what, pause):
    async def run():
        async with connected(server) as client:
            stream = client.request("POST", PATH, body(what))
            await asyncio.to_thread(server.seconds_until, 1)
            await asyncio.sleep(pause)
            client.stop(stream)
            return await asyncio.to_thread(server.seconds_until, 0)

    return asyncio.run(run())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", default="build/release/bin/zllm")
    parser.add_argument("--model", required=True)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    options = parser.parse_args()
    harness.PROGRAM = options.program
    choose = random.Random(1)
    with tempfile.TemporaryDirectory() as name:
        server = Server(options, pathlib.Path(name))
        try:
            for what in ("answer", "prompt"):
                for label, leave in (("HTTP/1.1", leave_http1), ("HTTP/2", leave_http2),
                                     ("HTTP/3", leave_http3)):
                    # At any moment of a round.
                    times = sorted(1e3 * leave(server, what, choose.uniform(0, 0.05))
                                   for _ in range(options.count))
                    print(json.dumps({"protocol": label, "during": what, "clients": len(times),
                                      "p50_ms": round(statistics.median(times), 1),
                                      "max_ms": round(times[-1], 1)}), flush=True)
        finally:
            server.stop()


if __name__ == "__main__":
    main()
