"""tidy.py BUILD: clang-tidy 19 over the sources of a clang build tree, as many at once as there
are processors. Kernels are left out: most of what is found in intrinsics is no fault, and they take
half of the time.

A file whose text, headers, flags and .clang-tidy are those of its last clean run is not run again;
the record is BUILD/tidy_clean.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys

import sources

build = pathlib.Path(sys.argv[1])
record = build / "tidy_clean"
clean = set(record.read_text().split()) if record.exists() else set()
configuration = "".join(sources.read(path) for path in sources.files()
                        if path.name == ".clang-tidy")


def preprocessed(entry):
    words = [word for word in shlex.split(entry["command"]) if not word.endswith("ccache")]
    words[words.index("-o"):words.index("-o") + 2] = []
    words[words.index("-c")] = "-E"
    return subprocess.run(words, cwd=entry["directory"], capture_output=True)


def check(entry):
    run = preprocessed(entry)
    if run.returncode != 0:
        return "", False, run.stderr.decode(errors="replace")
    text = run.stdout
    key = hashlib.sha256(text + configuration.encode() + entry["command"].encode()).hexdigest()
    if key in clean:
        return key, True, ""
    run = subprocess.run(["clang-tidy-19", "-p", str(build), "--quiet", entry["file"]],
                         cwd=sources.ROOT, capture_output=True, text=True)
    return key, run.returncode == 0, run.stdout


def is_checked(entry):
    path = pathlib.PurePosixPath(entry["file"]).relative_to(sources.ROOT)
    if path.parts[:2] == ("src", "kernel") or path.stem.endswith("_test"):
        return False
    return path.parts[0] in ("src", "bin")


entries = [entry for entry in json.loads((build / "compile_commands.json").read_text())
           if is_checked(entry)]
failed = 0
keys = set()
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    for key, fine, text in pool.map(check, entries):
        failed += not fine
        if fine:
            keys.add(key)
        else:
            print(text)
record.write_text("\n".join(sorted(keys)))
print(f"{len(entries)} files, {len(keys & clean)} of them unchanged since a clean run, "
      f"{failed} with findings")
sys.exit(1 if failed or not entries else 0)
