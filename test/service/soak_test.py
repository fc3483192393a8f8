"""The short form of bench/soak.py: mixed requests at once, each answered as if it were alone."""

import asyncio
import sys
import unittest

import harness

sys.path.insert(0, str(harness.ROOT / "bench"))
import soak  # noqa: E402

SECONDS = 8
CLIENTS = 24
LEAST = 2 * CLIENTS  # answers, on however slow a machine


class Soak(unittest.TestCase):
    def test_nothing_is_lost_or_mixed_up(self):
        server = harness.Server("--threads", "1", *soak.SERVER_OPTIONS)
        self.addCleanup(server.kill)
        run = soak.Soak(server.url, server.process.pid, CLIENTS, questions=22, seed=7, least=LEAST)
        asyncio.run(run.run(SECONDS))
        self.assertEqual(run.faults, [])
        self.assertLessEqual(run.values["zllm_prefix_cache_bytes"], 1.02 * (64 << 20))
        # Pages and weights are taken at the start; what requests need besides is little.
        self.assertLess(max(run.memory), 1.25 * run.memory[0] + (64 << 20))
        self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    unittest.main()
