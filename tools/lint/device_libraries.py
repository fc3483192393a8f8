"""device_libraries.py PROGRAM TARGET...: the device program stands on the C++ library and simdjson.

TARGETs are all that it links, as CMake knows it; the program itself is asked as well, for the
libraries that it loads and the symbols that it holds.
"""

import re
import subprocess
import sys

ALLOWED_SHARED = {"linux-vdso", "libstdc++", "libm", "libgcc_s", "libc", "libpthread", "libdl",
                  "librt", "ld-linux-x86-64", "ld-linux-aarch64", "libsimdjson"}
FORBIDDEN_TARGETS = re.compile(r"edge|text|embedded|server|cargo|yaml|spdlog|fmt|CLI", re.IGNORECASE)
FORBIDDEN_SYMBOLS = re.compile(r"^(edge_\w+|(YAML|CLI|spdlog|fmt)::.*|rust_\w+)", re.MULTILINE)

program, targets = sys.argv[1], sys.argv[2:]
problems = [f"links {target}" for target in targets if FORBIDDEN_TARGETS.search(target)]

loaded = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
for line in loaded.splitlines():
    library = line.split()[0].rpartition("/")[2].partition(".so")[0]
    if library not in ALLOWED_SHARED:
        problems.append(f"loads {library}")

symbols = subprocess.run(["nm", "-C", program], check=True, capture_output=True, text=True).stdout
names = "\n".join(line[19:] for line in symbols.splitlines())
problems += [f"holds {match.group()}" for match in FORBIDDEN_SYMBOLS.finditer(names)]

print("\n".join(problems[:20]))
print(f"{len(targets)} targets checked, {len(problems)} problems")
sys.exit(1 if problems or not targets else 0)
