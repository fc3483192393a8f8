"""service.py NODE_FOLDER JOBS: the tests of test/service against build/release/bin/zllm.

Runs the Python tests, JOBS modules at a time, and the npm clients of NODE_FOLDER (where npm has
installed test/service/node/package.json; "-" = there is none) against a server of their own. A line
for each test that failed or was skipped, and "passed failed skipped" as the last.
"""

import concurrent.futures
import io
import multiprocessing.util
import pathlib
import shutil
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SERVICE = ROOT / "test/service"
NODE_SECONDS = 3000  # guards against hanging
# They begin, so that all processes end at about the same time.
LONGEST = ("cache_test.py", "families_test.py", "same_answer_test.py", "soak_test.py",
           "tools_test.py")
sys.path.insert(0, str(SERVICE))


def end_servers_with_the_process():
    import harness

    # A process of the pool ends without atexit.
    multiprocessing.util.Finalize(None, harness.stop_shared_servers, exitpriority=1)


def run_module(name):
    log = io.StringIO()
    suite = unittest.defaultTestLoader.discover(str(SERVICE), pattern=name)
    result = unittest.TextTestRunner(stream=log, verbosity=2).run(suite)
    for test, trace in result.failures + result.errors:
        print(f"FAILED {test.id()}: {trace.strip().splitlines()[-1][:300]}", file=log)
    for test, reason in result.skipped:
        print(f"skipped {test.id()}: {reason}", file=log)
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    skipped = len(result.skipped)
    return log.getvalue(), result.testsRun - failed - skipped, failed, skipped


def run_python(jobs):
    names = sorted((path.name for path in SERVICE.glob("*_test.py")),
                   key=lambda name: (name not in LONGEST, name))
    counts = []
    with concurrent.futures.ProcessPoolExecutor(
            jobs, initializer=end_servers_with_the_process) as pool:
        for log, *found in pool.map(run_module, names):
            print(log, flush=True)
            counts.append(found)
    return [sum(column) for column in zip(*counts)]


def run_node(folder):
    import harness

    if folder == "-":
        print("skipped npm clients: node 20 or newer and npm are not there")
        return 0, 0, 1
    # Modules are looked for beside the program.
    program = shutil.copy(SERVICE / "node/clients.mjs", folder)
    server = harness.tool_server()
    name = harness.httpx.get(server.url + "/v1/models").json()["data"][0]["id"]
    node = pathlib.Path(folder) / "node_modules/.bin/node"
    command = [str(node) if node.exists() else "node", program, server.url, name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=NODE_SECONDS)
    print(done.stdout, done.stderr)
    lines = done.stdout.splitlines()
    passed = sum(line.startswith("ok ") for line in lines)
    failed = sum(line.startswith("not ok ") for line in lines)
    for line in lines:
        if line.startswith("not ok "):
            print(f"FAILED {line[7:300]}")
    if failed != done.returncode or passed == 0:
        print(f"FAILED npm clients: node ended with {done.returncode}")
        failed += 1
    return passed, failed, 0


def main():
    counts = [sum(pair) for pair in zip(run_python(int(sys.argv[2])), run_node(sys.argv[1]))]
    print(*counts)
    sys.exit(counts[1] > 0 or counts[0] == 0)


if __name__ == "__main__":
    main()
