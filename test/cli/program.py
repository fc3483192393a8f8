"""Runs the built programs; where fixtures lie."""

import os
import pathlib
import subprocess

ZLLM = os.environ["ZLLM"]
ZLLM_DEVICE = os.environ["ZLLM_DEVICE"]
FIXTURES = pathlib.Path(os.environ["ZLLM_FIXTURES"])
MODELS = FIXTURES / "models"
COMMANDS = [
    "run", "chat", "pull", "logits", "bench", "inspect", "tokenize", "template", "capabilities",
    "conformance", "doctor",
]


# What hangs for so long has failed, on however busy a machine.
GUARD_SECONDS = 300


def run(*arguments, stdin="", program=None, environment=None):
    """The finished process with stdout and stderr as text."""
    return subprocess.run(
        [program or ZLLM, *map(str, arguments)],
        input=stdin.encode() if isinstance(stdin, str) else stdin,
        capture_output=True, timeout=GUARD_SECONDS, check=False,
        env={**os.environ, **(environment or {})},
    )


def text(data):
    return data.decode("utf-8", "strict")
