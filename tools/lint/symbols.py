"""symbols.py LIST: banned symbols in the regions' objects.

LIST has a line "region archive" for every region with objects. A region may not open files by
streams, end the process or print, except base; no object may need a device's library yet.
Exceptions may be thrown inside a region only, so their number is reported.
"""

import pathlib
import re
import subprocess
import sys

BANNED = [
    ("file streams", re.compile(r"std::basic_(i|o)?f(stream|ilebuf)"), {"base"}),
    ("end of the process", re.compile(r"^(abort|exit|_exit|_Exit|quick_exit)$"), {"base"}),
    ("printing", re.compile(r"^(__)?(v?f?printf|puts|putchar|perror)(_chk)?$|^std::c(out|err|log)$"),
     {"base"}),
    ("a device's library", re.compile(r"^(cuda|cublas|nccl|hip|vk|wgpu)[A-Z]"), set()),
    ("another region's text libraries", re.compile(r"^(YAML|spdlog|CLI|fmt)::"), set()),
]
# Handles of edge free themselves by inline destructors; all else of the ABI is edge's to call.
RUST = re.compile(r"^edge_(?!\w+_free$)")
RUST_REGIONS = {"edge"}


def undefined_symbols(archive):
    listed = subprocess.run(["nm", "-C", "--undefined-only", archive], check=True,
                            capture_output=True, text=True).stdout
    for line in listed.splitlines():
        kind, _, symbol = line.strip().partition(" ")
        if kind in ("U", "w"):
            # nm writes a symbol's version after "@", and arguments after "(".
            yield symbol.partition("@")[0].strip()


problems = []
regions = [line.split() for line in pathlib.Path(sys.argv[1]).read_text().splitlines() if line]
throwing = {}
for region, archive in regions:
    for symbol in sorted(set(undefined_symbols(archive))):
        name = symbol.partition("(")[0]
        for what, pattern, allowed in BANNED:
            if pattern.search(name) and region not in allowed:
                problems.append(f"{region}: {what}: {symbol}")
        if RUST.match(name) and region not in RUST_REGIONS:
            problems.append(f"{region}: calls the Rust library itself: {symbol}")
    count = list(undefined_symbols(archive)).count("__cxa_throw")
    if count:
        throwing[region] = count
print("objects with a throw: " + (", ".join(f"{r} {n}" for r, n in throwing.items()) or "none"))
for problem in problems:
    print(problem)
print(f"{len(regions)} regions checked, {len(problems)} problems")
sys.exit(1 if problems or not regions else 0)
