import json
import os
import pathlib
import pty
import signal
import subprocess
import tempfile
import unittest

import tiny_model
from program import GUARD_SECONDS, ZLLM, run, text

ARGUMENTS = ["--max-tokens", "4", "--temperature", "0"]


class Chat(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = pathlib.Path(cls.folder.name)
        cls.model = tiny_model.make(cls.path / "tiny")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def chat(self, *lines, arguments=()):
        return run("chat", "--model", self.model, *ARGUMENTS, *arguments,
                   stdin="".join(line + "\n" for line in lines))

    def test_history_is_kept_and_saved(self):
        file = self.path / "history.json"
        result = self.chat("one", "two", "/undo", "three", f"/save {file}", "/quit")
        self.assertEqual(result.returncode, 0, result.stderr)
        messages = json.loads(file.read_text())["messages"]
        self.assertEqual([m["role"] for m in messages], ["user", "assistant"] * 2)
        self.assertEqual([m["content"] for m in messages[::2]], ["one", "three"])

    def test_a_saved_conversation_goes_on(self):
        file = self.path / "loaded.json"
        file.write_text(json.dumps({"messages": [
            {"role": "system", "content": "s"}, {"role": "user", "content": "u"},
            {"role": "assistant", "content": "a"}]}))
        again = self.path / "again.json"
        result = self.chat(f"/load {file}", "next", f"/save {again}")
        self.assertEqual(result.returncode, 0, result.stderr)
        messages = json.loads(again.read_text())["messages"]
        self.assertEqual([m["content"] for m in messages[:4]], ["s", "u", "a", "next"])

    def test_the_first_turn_is_that_of_run(self):
        single = run("run", "--model", self.model, "--prompt", "one", *ARGUMENTS)
        self.assertEqual(self.chat("one").stdout, single.stdout)

    def test_system_and_reset(self):
        file = self.path / "system.json"
        self.chat("one", "/system be brief", "two", "/reset", f"/save {file}")
        self.assertEqual(json.loads(file.read_text())["messages"],
                         [{"role": "system", "content": "be brief"}])

    def test_params(self):
        result = self.chat("/params seed 9", "/params", "/params top-p 0.5", "/params")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("seed: 9", text(result.stdout))
        self.assertIn("top-p: 0.5", text(result.stdout))

    def test_wrong_commands_say_so_and_fail_a_script(self):
        for line, part in [("/undu", "did you mean /undo?"), ("/undo", "nothing to undo"),
                           ("/params temprature 1", "did you mean temperature?"),
                           ("/params temperature 500", "from 0 to 100"),
                           ("/params context 5", "fixed"), ("/save", "needs a file"),
                           ("/load /nowhere/x", "/nowhere/x")]:
            with self.subTest(line):
                result = self.chat(line)
                self.assertEqual(result.returncode, 1)
                self.assertIn(part, text(result.stderr))

    def test_a_full_context_is_said_and_nothing_is_dropped(self):
        result = self.chat("word " * 40, "/undo", arguments=["--context", "30"])
        self.assertEqual(result.returncode, 1)
        self.assertRegex(text(result.stderr), r"context is full: .* \d+ tokens, .* holds 30")
        self.assertIn("nothing to undo", text(result.stderr))

    def letter(self):
        [token] = json.loads(run("tokenize", "--model", self.model, stdin="a").stdout)
        return token

    def terminal(self, *arguments):
        controller, terminal = pty.openpty()
        process = subprocess.Popen(
            [ZLLM, "chat", "--model", self.model, *arguments], stdin=terminal, stdout=terminal,
            stderr=terminal, env={**os.environ, "TERM": "dumb"}, start_new_session=True)
        os.close(terminal)
        return process, controller

    def read_until(self, controller, wanted):
        seen = b""
        while wanted not in seen:
            try:
                seen += os.read(controller, 4096)
            except OSError:
                self.fail(f"ended before {wanted}: {seen}")
        return seen

    def test_interrupts_at_a_terminal(self):
        process, controller = self.terminal(
            "--max-tokens", "1000000000", "--context", "1000000",
            # One letter again and again, which is no prompt of the program's.
            "--logit-bias", f"{self.letter()}=100")
        seen = self.read_until(controller, b"> ")
        self.assertNotIn(b"\x1b", seen)
        os.write(controller, b"hello\n")
        self.read_until(controller, b"hello\r\n")
        os.read(controller, 1)
        process.send_signal(signal.SIGINT)
        self.read_until(controller, b"\n> ")  # the answer stopped, the program did not
        process.send_signal(signal.SIGINT)
        self.read_until(controller, b"leaves)\r\n> ")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=GUARD_SECONDS), 130)
        os.close(controller)

    def test_end_of_input_leaves_a_terminal(self):
        process, controller = self.terminal()
        self.read_until(controller, b"> ")
        os.write(controller, b"\x04")
        self.assertEqual(process.wait(timeout=GUARD_SECONDS), 0)
        os.close(controller)
