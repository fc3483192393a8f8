"""exports.py ABI SHARED [STATIC]: the C library shows the symbols of the ABI file and no other.

Inline variables of C++ ("unique" to nm) are passed over in the static library: objcopy cannot make
them local, and they clash with nothing.
"""

import subprocess
import sys

abi_file, shared, *static = sys.argv[1:]
with open(abi_file, encoding="ascii") as file:
    wanted = file.read().split()
problems = [] if wanted == sorted(set(wanted)) else [f"{abi_file} is not sorted"]


def symbols(*command):
    lines = subprocess.run(["nm", *command], check=True, capture_output=True, text=True).stdout
    fields = [line.split() for line in lines.splitlines()]
    return {field[-1].partition("@")[0] for field in fields
            if len(field) == 3 and field[1] not in "Au"}


libraries = [(shared, ["-D", "--defined-only", shared])]
libraries += [(path, ["--extern-only", "--defined-only", path]) for path in static]
for path, command in libraries:
    found = symbols(*command)
    problems += [f"{path} hides {name}" for name in sorted(set(wanted) - found)]
    problems += [f"{path} shows {name}" for name in sorted(found - set(wanted))[:20]]

print("\n".join(problems))
print(f"{len(wanted)} symbols checked in {len(libraries)} libraries, {len(problems)} problems")
sys.exit(1 if problems or not wanted else 0)
