"""File names: snake_case, and named after one idea."""

import re

import sources

CPP_NAME = re.compile(r"[a-z0-9]+(_[a-z0-9]+)*(-inl)?\.(h|cpp|cu|cuh)")
MEANINGLESS = re.compile(r"(^|_)(utils?|helpers?|common|misc|types|stuff)(_|$)")

problems = []
checked = 0
for path in sources.cpp_files():
    checked += 1
    if not CPP_NAME.fullmatch(path.name):
        problems.append(f"{path}: not snake_case")
    if MEANINGLESS.search(path.stem.removesuffix("_test")):
        problems.append(f"{path}: the name says nothing of what is inside")
sources.finish(problems, checked, "file names")
