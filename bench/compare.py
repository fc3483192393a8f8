#!/usr/bin/env python3
"""Compares zllm with other engines on one model file, in one run on one machine.

    bench/compare.py MODEL.gguf --zllm build/release/bin/zllm --rival NAME=path/to/llama-bench ...

Every figure is the median of --rounds, taken in turn (zllm, rival, zllm, rival ...), so that a
machine whose speed drifts is fair to all. A rival is a program with the options of llama-bench
(-m -p -n -d -t -o json). The memory's own speed is printed beside the table.
"""

import argparse
import json
import statistics
import subprocess
import sys
import threading
import time

CASES = [  # name, prompt tokens, generated tokens, depth
    ("prefill 512", 512, 0, 0),
    ("decode 128", 0, 128, 0),
    ("prefill 4096", 4096, 0, 0),
    ("decode 64 at 4096", 0, 64, 4096),
]


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout)


def zllm_rate(program, model, threads, prompt, generated, depth):
    command = [program, "bench", "--model", model, "--threads", str(threads), "--json", "--repeat", "2"]
    command += ["--prompt-tokens", str(max(prompt, 1)), "--gen-tokens", str(generated)]
    command += ["--depth", str(depth)]
    report = run(command)
    return report["decode" if generated else "prefill"]["tokens_per_second"]


def rival_rate(program, model, threads, prompt, generated, depth):
    command = [program, "-m", model, "-t", str(threads), "-fa", "1", "-r", "2", "-o", "json"]
    command += ["-p", str(prompt), "-n", str(generated), "-d", str(depth)]
    return run(command)[0]["avg_ts"]


def read_bandwidth(threads):
    """Bytes a second that `threads` threads read from memory, by summing 256 MiB blocks each."""
    try:
        import numpy
    except ImportError:
        return None
    blocks = [numpy.ones(32 * 1024 * 1024, dtype=numpy.float64) for _ in range(threads)]
    best = 0.0
    for _ in range(3):
        workers = [threading.Thread(target=block.sum) for block in blocks]
        start = time.perf_counter()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        best = max(best, sum(block.nbytes for block in blocks) / (time.perf_counter() - start))
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--zllm", default="build/release/bin/zllm")
    parser.add_argument("--rival", action="append", default=[], metavar="NAME=PROGRAM")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cases", default="", help="comma-separated starts of case names; all if empty")
    arguments = parser.parse_args()
    engines = [("zllm", zllm_rate, arguments.zllm)]
    for rival in arguments.rival:
        name, program = rival.split("=", 1)
        engines.append((name, rival_rate, program))
    bandwidth = read_bandwidth(arguments.threads)
    if bandwidth:
        print(f"memory read, {arguments.threads} threads: {bandwidth / 1e9:.1f} GB/s")
    print("| tokens/s | " + " | ".join(name for name, _, _ in engines) + " |")
    print("|---|" + "---|" * len(engines))
    wanted = [start for start in arguments.cases.split(",") if start]
    for case, prompt, generated, depth in CASES:
        if wanted and not any(case.startswith(start) for start in wanted):
            continue
        rates = {name: [] for name, _, _ in engines}
        for _ in range(arguments.rounds):
            for name, rate, program in engines:
                rates[name].append(
                    rate(program, arguments.model, arguments.threads, prompt, generated, depth))
        cells = [f"{statistics.median(rates[name]):.0f}" for name, _, _ in engines]
        print(f"| {case} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
