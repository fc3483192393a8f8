#!/usr/bin/env python3
"""Prints how far zllm's logits are from expected ones, as a table of Markdown.

    tools/oracle/compare_logits.py build/release/bin/zllm FOLDER...

FOLDER holds a model (Hub layout or model.gguf) with expected.json (prompt, greedy) and
expected.safetensors (logits). Needs numpy and safetensors. Columns: largest difference of the whole
prefill; whether Append Prefill at every split and Decode from every split have its bits; greedy
tokens equal to the expected ones.
"""

import json
import os
import subprocess
import sys
import tempfile

import numpy
from safetensors.numpy import load_file


def run(program, model, tokens, out, *options):
    command = [program, "logits", "--model", model, "--kv-type", "f32", "--out", out]
    command += ["--tokens", ",".join(map(str, tokens)), *options]
    subprocess.run(command, check=True)
    return load_file(out)


def row(program, folder, out):
    model = os.path.join(folder, "model.gguf")
    model = model if os.path.exists(model) else folder
    with open(os.path.join(folder, "expected.json"), encoding="utf-8") as file:
        expected = json.load(file)
    wanted = load_file(os.path.join(folder, "expected.safetensors"))["logits"]
    tokens = expected["prompt"]
    whole = run(program, model, tokens, out, "--greedy", str(len(expected["greedy"])))
    logits = whole["logits"]
    difference = numpy.abs(logits - wanted).max()
    splits = range(1, len(tokens))
    same = [
        sum(numpy.array_equal(run(program, model, tokens, out, option, str(split))["logits"], logits)
            for split in splits)
        for option in ("--append-at", "--decode-from")
    ]
    greedy = sum(a == b for a, b in zip(whole["greedy"], expected["greedy"]))
    name = os.path.basename(os.path.normpath(folder))
    return (f"| {name} | {difference:.1e} | {same[0]} of {len(splits)} | {same[1]} of {len(splits)} "
            f"| {greedy} of {len(expected['greedy'])} |")


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    print("| model | prefill, largest difference | append: splits with the same bits "
          "| decode: the same | greedy tokens |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for model in sys.argv[2:]:
            print(row(sys.argv[1], model, os.path.join(folder, "out.safetensors")), flush=True)


if __name__ == "__main__":
    main()
