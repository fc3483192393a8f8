"""expect.py compiles|must_not_compile FILE SRC COMPILER INCLUDE_FOLDER...

A file that must not compile fails for one reason: the header of its only include, which does exist
in the source tree, is not found from its region.
"""

import pathlib
import re
import subprocess
import sys

expectation, file, src, compiler = sys.argv[1:5]
folders = [folder for folder in sys.argv[5:] if folder]
included = re.findall(r"#include <zllm/([^>]+)>", pathlib.Path(file).read_text())
if len(included) != 1:
    sys.exit(f"{file}: must include one header, has {len(included)}")
header = included[0]
if not (pathlib.Path(src) / header).is_file():
    sys.exit(f"{file}: {header} is not in the source tree, so that this test shows nothing")

compiled = subprocess.run(
    [compiler, "-std=c++20", "-fsyntax-only", *(f"-I{folder}" for folder in folders), file],
    capture_output=True, text=True, env={"LC_ALL": "C", "PATH": "/usr/bin:/bin:/usr/local/bin"})
print(compiled.stderr)
errors = re.findall(r"error: .*", compiled.stderr)
if expectation == "compiles":
    sys.exit(0 if compiled.returncode == 0 else f"{header} is not visible from its region")
if compiled.returncode == 0:
    sys.exit(f"{header} is visible over an edge that must not exist")
if len(errors) != 1 or header not in errors[0] or not re.search(
        r"No such file|file not found", errors[0]):
    sys.exit("failed for another reason than the missing header")
