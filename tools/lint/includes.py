"""Includes that would get past the private include roots of the regions.

In src an include is <zllm/...> or a library's; a quoted path or one with ".." is none of these.
Tests may quote what lies in the testing/ folder beside them.
A template's bodies (-inl.h) are for the file that instantiates them: a .cpp of the same folder, a
composition (runtime/<model>/<platform>/, conformance/<platform>/), a kernel's instance, a test or another -inl.h.
"""

import re

import sources

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def may_include_bodies(path, header):
    name = path.name
    if name.endswith(("-inl.h", "_test.cpp")) or path.parts[0] in ("test", "bench", "fuzz"):
        return True
    if path.suffix not in (".cpp", ".cu"):
        return False
    same_folder = str(path.parent) == "src/" + header.removeprefix("zllm/").rpartition("/")[0]
    composition = (path.parts[:2], len(path.parts)) in (
        (("src", "runtime"), 5), (("src", "conformance"), 4))
    return same_folder or composition or path.parts[:2] == ("src", "kernel")


def is_test(path):
    return path.stem.endswith("_test") or "testing" in path.parts


problems = []
checked = 0
for path in sources.cpp_files():
    checked += 1
    for quote, header in INCLUDE.findall(sources.read(path)):
        if ".." in header.split("/"):
            problems.append(f"{path}: include of {header} leaves its folder by '..'")
        if quote == '"' and path.parts[0] == "src" and not is_test(path):
            problems.append(f'{path}: quoted include "{header}"; spell it <zllm/...>')
        if header.endswith("-inl.h") and not may_include_bodies(path, header):
            problems.append(f"{path}: includes the template bodies {header}")
    if path.suffix == ".h" and "#pragma once" not in sources.read(path):
        problems.append(f"{path}: no #pragma once")
sources.finish(problems, checked, "C++ files")
