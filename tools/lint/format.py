"""clang-format 19 decides the layout of every C++ file."""

import os
import subprocess
import sys

import sources

paths = [str(path) for path in sources.cpp_files() if not sources.is_generated(path)]
if not paths:
    sources.finish([], 0, "C++ files")
command = ["clang-format-19", "--dry-run", "-Werror"]
chunks = [paths[start::os.cpu_count() or 1] for start in range(os.cpu_count() or 1)]
running = [subprocess.Popen(command + chunk, cwd=sources.ROOT) for chunk in chunks if chunk]
failed = [process for process in running if process.wait() != 0]
print(f"{len(paths)} C++ files checked; mend with: clang-format-19 -i FILE")
sys.exit(1 if failed else 0)
