"""The repository's own files, as the lints see them."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CPP = (".h", ".cpp", ".cu", ".cuh")
CODE = CPP + (".py", ".rs", ".cmake", ".sh")


def files():
    """Paths relative to the root of all files that git tracks or would track."""
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others",
         "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True).stdout.decode()
    paths = sorted({pathlib.PurePosixPath(name) for name in listed.split("\0") if name})
    return [path for path in paths if (ROOT / path).is_file() and not (ROOT / path).is_symlink()]


def is_fixture(path):
    return "fixtures" in path.parts or "corpus" in path.parts


def is_generated(path):
    return "gen" in path.parts or path.name in ("Cargo.lock", "LICENSE")


def is_code(path):
    """C++, Python, Rust, CMake and shell, scripts without a suffix included."""
    if is_fixture(path) or is_generated(path):
        return False
    if path.suffix in CODE or path.name == "CMakeLists.txt":
        return True
    return not path.suffix and read(path)[:2] == "#!"


def cpp_files():
    return [path for path in files() if path.suffix in CPP and not is_fixture(path)]


def read(path):
    return (ROOT / path).read_text(encoding="utf-8", errors="surrogateescape")


def finish(problems, checked, what):
    """Prints the problems and ends the lint; a lint that looked at nothing has failed."""
    for problem in problems:
        print(problem)
    if not checked:
        print(f"no {what} found to check")
        sys.exit(1)
    print(f"{checked} {what} checked, {len(problems)} problems")
    sys.exit(1 if problems else 0)
