"""Python and shell scripts parse, and those without a suffix can be started."""

import ast
import os
import subprocess

import sources

problems = []
checked = 0
for path in sources.files():
    if not sources.is_code(path):
        continue
    text = sources.read(path)
    if path.suffix == ".py":
        checked += 1
        try:
            ast.parse(text, str(path))
        except SyntaxError as error:
            problems.append(f"{path}:{error.lineno}: {error.msg}")
    elif path.suffix == ".sh" or text.startswith("#!/usr/bin/env bash"):
        checked += 1
        parsed = subprocess.run(["bash", "-n", str(sources.ROOT / path)], capture_output=True,
                                text=True)
        if parsed.returncode != 0:
            problems.append(parsed.stderr.strip())
        if not path.suffix and not os.access(sources.ROOT / path, os.X_OK):
            problems.append(f"{path}: not executable")
sources.finish(problems, checked, "scripts")
