"""exports.py ABI SHARED [STATIC]: the C library shows the symbols of the ABI file and no other."""

import subprocess
import sys

abi_file, shared, *static = sys.argv[1:]
with open(abi_file, encoding="ascii") as file:
    wanted = file.read().split()
problems = [] if wanted == sorted(set(wanted)) else [f"{abi_file} is not sorted"]


def symbols(*command):
    lines = subprocess.run(["nm", *command], check=True, capture_output=True, text=True).stdout
    names = {line.split()[-1].partition("@")[0] for line in lines.splitlines() if line.strip()}
    return {name for name in names if not name.endswith(":") and not name.startswith("ZLLM_")}


libraries = [(shared, ["-D", "--defined-only", shared])]
libraries += [(path, ["--extern-only", "--defined-only", path]) for path in static]
for path, command in libraries:
    found = symbols(*command)
    problems += [f"{path} hides {name}" for name in sorted(set(wanted) - found)]
    problems += [f"{path} shows {name}" for name in sorted(found - set(wanted))[:20]]

print("\n".join(problems))
print(f"{len(wanted)} symbols checked in {len(libraries)} libraries, {len(problems)} problems")
sys.exit(1 if problems or not wanted else 0)
