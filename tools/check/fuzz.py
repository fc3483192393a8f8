"""fuzz.py FOLDER SECONDS JOBS: runs each libFuzzer program of FOLDER for SECONDS, JOBS at a time.

Program `x_fuzz` starts from the seeds in fuzz/corpus/x and keeps what it finds in FOLDER/found. The
last line is "passed failed"; a program without seeds has failed, as has a folder without programs.
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

# Above what the largest legal inputs need; a parser that takes more for a small input is at fault.
MEMORY_MIB = 2048
INPUT_SECONDS = 60  # on a machine that does other things too
LONGEST_INPUT = 65536


def fuzz(program, folder, seconds):
    seeds = pathlib.Path("fuzz/corpus") / program.name.removesuffix("_fuzz")
    if not seeds.is_dir() or not any(seeds.iterdir()):
        return False, f"{program.name}: no seeds in {seeds}"
    found = folder / "found" / program.name
    found.mkdir(parents=True, exist_ok=True)
    run = subprocess.run(
        [program, f"-max_total_time={seconds}", f"-rss_limit_mb={MEMORY_MIB}", f"-timeout={INPUT_SECONDS}",
         f"-max_len={LONGEST_INPUT}", "-print_final_stats=1",
         f"-artifact_prefix={folder}/{program.name}-", found, seeds],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        errors="replace")
    executed = re.search(r"stat::number_of_executed_units:\s*(\d+)", run.stdout)
    count = int(executed.group(1)) if executed else 0
    if run.returncode != 0 or count == 0:
        return False, f"{program.name}: exit {run.returncode}\n{run.stdout[-6000:]}"
    return True, f"{program.name}: {count} inputs in {seconds} s"


folder = pathlib.Path(sys.argv[1])
seconds, jobs = int(sys.argv[2]), int(sys.argv[3])
programs = sorted(path for path in folder.glob("*_fuzz") if os.access(path, os.X_OK))
passed = failed = 0
with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
    for fine, text in pool.map(lambda program: fuzz(program, folder, seconds), programs):
        print(("ran " if fine else "FAILED ") + text)
        passed, failed = passed + fine, failed + (not fine)
if not programs:
    print(f"FAILED no fuzzer in {folder}")
    failed = 1
print(passed, failed)
sys.exit(1 if failed else 0)
