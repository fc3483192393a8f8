"""Throughput and latency of servers under load, and the cost of a second turn.

    python bench/serve_bench.py load --url URL [--clients 1,4,16] [--requests N]
    python bench/serve_bench.py turns --url URL [--prefix-words 3900]
    python bench/serve_bench.py newcomers --url URL [--prefix-words 3900] [--requests N]
    python bench/serve_bench.py compare --model GGUF --zllm PROGRAM --peer LLAMA_SERVER

The client speaks HTTP/1.1 over plain sockets and parses as little as it can, since it shares the
machine with the server. Every request is a streamed /v1/completions with a prompt of its own.
"""

import argparse
import asyncio
import json
import os
import random
import re
import socket
import statistics
import subprocess
import sys
import time
import urllib.parse
import urllib.request

WORDS = ("river stone light garden music winter letter window paper silver morning shadow engine "
         "market forest story summer bridge candle harbour mountain question answer number").split()


def prompt_text(seed, words):
    choose = random.Random(seed)
    return " ".join(choose.choice(WORDS) for _ in range(words))


async def stream(url, body):
    """Seconds to the first piece, to the end, and the pieces' arrival times."""
    parts = urllib.parse.urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    text = json.dumps(body).encode()
    start = time.perf_counter()
    writer.write(b"POST /v1/completions HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"
                 b"Content-Length: %d\r\nConnection: close\r\n\r\n"
                 % (parts.hostname.encode(), len(text)) + text)
    await writer.drain()
    head = await reader.readuntil(b"\r\n\r\n")
    if b" 200 " not in head.split(b"\r\n")[0]:
        raise RuntimeError((head + await reader.read()).decode(errors="replace"))
    arrivals, usage, tail = [], None, b""
    while True:
        piece = await reader.read(65536)
        if not piece:
            break
        now = time.perf_counter() - start
        tail += piece
        *lines, tail = tail.split(b"\n")
        for line in lines:
            if line.startswith(b"data: {"):
                if b'"usage":{' in line or b'"usage": {' in line:
                    usage = json.loads(line[6:]).get("usage") or usage
                arrivals.append(now)
    writer.close()
    return arrivals[0], time.perf_counter() - start, arrivals, usage


async def measure_load(url, clients, requests, words, tokens, seed):
    first, gaps, produced = [], [], 0
    waiting = list(range(requests))

    async def client():
        nonlocal produced
        while waiting:
            number = waiting.pop()
            body = {"prompt": prompt_text(f"{seed}-{number}", words), "max_tokens": tokens,
                    "temperature": 0, "ignore_eos": True, "stream": True,
                    "stream_options": {"include_usage": True}}
            begun, _, arrivals, usage = await stream(url, body)
            first.append(begun)
            gaps.extend(b - a for a, b in zip(arrivals, arrivals[1:]))
            produced += usage["completion_tokens"] if usage else len(arrivals)

    start = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(clients)))
    seconds = time.perf_counter() - start
    return {"clients": clients, "requests": requests, "tokens_per_second": produced / seconds,
            "ttft_p50_ms": 1e3 * statistics.median(first), "ttft_p99_ms": 1e3 * p99(first),
            "gap_p50_ms": 1e3 * statistics.median(gaps), "gap_p99_ms": 1e3 * p99(gaps)}


def p99(values):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]


async def measure_turns(url, prefix_words, seed):
    """First and second request with one long prefix and different ends."""
    prefix = prompt_text(f"turn-{seed}", prefix_words)
    results = []
    for ending in (" first question", " second question"):
        begun, _, _, usage = await stream(url, {
            "prompt": prefix + ending, "max_tokens": 1, "temperature": 0, "stream": True,
            "stream_options": {"include_usage": True}})
        results.append((begun, usage))
    return results


async def measure_newcomers(url, prefix_words, requests, seed):
    """Short requests one after another, at any moment while a long prompt is computed."""
    choose = random.Random(seed)
    long_one = asyncio.create_task(stream(url, {
        "prompt": prompt_text(f"long-{seed}", prefix_words), "max_tokens": 1, "stream": True}))
    first = []
    for number in range(requests):
        await asyncio.sleep(choose.uniform(0.05, 0.3))
        if long_one.done():
            break
        begun, _, _, _ = await stream(url, {"prompt": prompt_text(f"{seed}-{number}", 20),
                                            "max_tokens": 1, "stream": True})
        first.append(begun)
    return first, (await long_one)[0]


def report_newcomers(url, options, label):
    first, long_ones = [], []
    for i in range(options.repeat):
        begun, long_one = asyncio.run(measure_newcomers(url, options.prefix_words, options.requests,
                                                        f"{label}-{i}-{time.time()}"))
        first += begun
        long_ones.append(long_one)
    print(json.dumps({"server": label, "newcomers": len(first),
                      "ttft_p50_ms": round(1e3 * statistics.median(first), 1),
                      "ttft_max_ms": round(1e3 * max(first), 1),
                      "long_ttft_p50_ms": round(1e3 * statistics.median(long_ones), 1)}),
          flush=True)


def report_load(url, options, label):
    reported = []
    for clients in options.clients:
        runs = [asyncio.run(measure_load(url, clients, max(options.requests, 2 * clients),
                                         options.words, options.tokens, f"{label}-{clients}-{i}"))
                for i in range(options.repeat)]
        run = sorted(runs, key=lambda r: r["tokens_per_second"])[len(runs) // 2]
        print(json.dumps({"server": label, **{k: round(v, 1) if isinstance(v, float) else v
                                              for k, v in run.items()}}), flush=True)
        reported.append(run)
    return reported


def report_turns(url, options, label):
    for i in range(options.repeat):
        (cold, cold_usage), (warm, warm_usage) = asyncio.run(
            measure_turns(url, options.prefix_words, f"{label}-{i}-{time.time()}"))
        print(json.dumps({"server": label, "prompt_tokens": cold_usage["prompt_tokens"],
                          "cold_ms": round(1e3 * cold, 1), "warm_ms": round(1e3 * warm, 1),
                          "share": round(warm / cold, 4),
                          "cached": warm_usage.get("prompt_tokens_details", {})}), flush=True)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(arguments, port, ready):
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    for _ in range(600):
        try:
            if urllib.request.urlopen(url + ready).status == 200:
                return process, url
        except OSError:
            time.sleep(0.1)
    process.kill()
    sys.exit(f"{arguments[0]} does not start")


def command(options, label, port, slots, context):
    """For so many answers at once, each of so many tokens."""
    if label == "zllm":
        return [options.zllm, "serve", "--model", options.model, "--port", str(port), "--threads",
                str(options.threads), "--max-concurrent", str(slots), "--context", str(context),
                "--cache-tokens", str(slots * context), "--no-request-log"]
    return [options.peer, "-m", options.model, "--port", str(port), "-t", str(options.threads),
            "-np", str(slots), "-c", str(slots * context), "-fa", "on", "--no-webui"]


def summarise(loads, all_clients):
    """Medians over the rounds, least and most; with both servers, the ratios round by round."""
    for clients in all_clients:
        runs = {label: [run for run in found if run["clients"] == clients]
                for label, found in loads.items()}
        for key in ("tokens_per_second", "ttft_p50_ms", "ttft_p99_ms", "gap_p50_ms", "gap_p99_ms"):
            values = {label: [run[key] for run in found] for label, found in runs.items()}
            if len(values) == 2:
                values["ratio"] = [a / b for a, b in zip(*values.values())]
            print(f"{clients:2} clients {key:18}", "  ".join(
                f"{label} {statistics.median(found):.4g} ({min(found):.4g} to {max(found):.4g})"
                for label, found in values.items()), flush=True)


def compare(options):
    """Both servers in turn on the same file, alone on the machine."""
    labels = [label for label in ("zllm", "peer") if getattr(options, label)]

    def measure(label, slots, context, report):
        port = free_port()
        process, url = start(command(options, label, port, slots, context), port,
                             "/ready" if label == "zllm" else "/health")
        try:
            return report(url, options, label)
        finally:
            process.terminate()
            process.wait()

    loads = {label: [] for label in labels}
    for _ in range(options.rounds):
        for label in labels:
            loads[label] += measure(label, max(options.clients), 1024, report_load)
    summarise(loads, options.clients)
    for label in labels:
        measure(label, 1, 8192, report_turns)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=("load", "turns", "newcomers", "compare"))
    parser.add_argument("--url")
    parser.add_argument("--model")
    parser.add_argument("--zllm", default="build/release/bin/zllm")
    parser.add_argument("--peer")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--clients", type=lambda text: [int(n) for n in re.split(",", text)],
                        default=[1, 4, 16])
    parser.add_argument("--requests", type=int, default=16)
    parser.add_argument("--words", type=int, default=128)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--prefix-words", type=int, default=3900)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if options.what == "load":
        report_load(options.url, options, "server")
    elif options.what == "turns":
        report_turns(options.url, options, "server")
    elif options.what == "newcomers":
        report_newcomers(options.url, options, "server")
    else:
        compare(options)


if __name__ == "__main__":
    main()
