"""tidy.py BUILD RECORD: clang-tidy 19 over the sources of a clang build tree that is up to date.

Kernels are left out: most of what is found in intrinsics is no fault, and they take half of the
time.

A file whose text, headers, flags and .clang-tidy are those of a clean run, in this clone or
another, is not run again; RECORD keeps the keys of clean files. Headers take most of a run, so
those of the other files that compile together run as one text. Where that has findings, its halves
run, down to the file; so what is printed was found in a file as it is.
"""

import concurrent.futures
import functools
import hashlib
import itertools
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

import sources

TIDY = "clang-tidy-19"
COMPILER = "clang++-19"
FILES_AT_ONCE = 16  # more would leave processors without work at the end
KEYS_KEPT = 20000  # some fifty states of the sources

build = pathlib.Path(sys.argv[1]).resolve()
record = pathlib.Path(sys.argv[2])


def is_checked(entry):
    path = pathlib.PurePosixPath(entry["file"]).relative_to(sources.ROOT)
    if path.parts[:2] == ("src", "kernel") or path.stem.endswith("_test"):
        return False
    return path.parts[0] in ("src", "bin")


def split(entry):
    """The flags of the entry's command, and the object that it makes."""
    words = [word for word in shlex.split(entry["command"]) if not word.endswith("ccache")]
    at = words.index("-o")
    return words[1:at] + words[at + 4:], words[at + 1]


def flags(entries):
    """Those that several files can be compiled with: each finds its headers, and maybe others."""
    return list(dict.fromkeys(word for entry in entries for word in split(entry)[0]))


def dependencies():
    """The files that each object was made of, as the build has noted them."""
    listed = subprocess.run(["ninja", "-C", str(build), "-t", "deps"], check=True,
                            capture_output=True, text=True).stdout
    found = {}
    real = functools.cache(lambda name: os.path.realpath(build / name))
    for line in listed.splitlines():
        if line.startswith("    "):
            files.append(real(line.strip()))
        elif ": #deps " in line:
            files = found[line.partition(": #deps ")[0]] = []
    return found


def digest(*parts):
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def in_clone(text):
    return text.replace(str(sources.ROOT), "ROOT")


file_digests = {}


def key(entry, files):
    """What the result of the file's run follows from; the same in every clone."""
    parts = [tool, in_clone(entry["command"])]
    for file in sorted(files):
        if file not in file_digests:
            file_digests[file] = hashlib.sha256(pathlib.Path(file).read_bytes()).hexdigest()
        parts += [in_clone(file), file_digests[file]]
    return digest(*parts)


def run(file, arguments):
    return subprocess.run([TIDY, "--quiet", file, "--", *arguments], cwd=build,
                          capture_output=True, text=True)


def conflicts(text, entries):
    """The files that do not compile with those before them."""
    done = subprocess.run([COMPILER, "-fsyntax-only", "-ferror-limit=0", text, *flags(entries)],
                          cwd=build, capture_output=True, text=True)
    blamed = {line.partition(":")[0] for line in done.stderr.splitlines() if ": error: " in line}
    return [entry for entry in entries if entry["file"] in blamed]


def check(entries):
    """Pairs of an entry and what was found in it."""
    if len(entries) == 1:
        done = run(entries[0]["file"], flags(entries))
        return [(entries[0], done.stdout + done.stderr if done.returncode else "")]
    with tempfile.NamedTemporaryFile("w", dir=build, suffix=".cpp") as text:
        for entry in entries:
            text.write(f'#line 1 "{entry["file"]}"\n{pathlib.Path(entry["file"]).read_text()}\n')
        text.flush()
        apart = conflicts(text.name, entries)
        if not apart and run(text.name, flags(entries)).returncode == 0:
            return [(entry, "") for entry in entries]
    if not apart or apart[0] == entries[0]:
        apart = entries[len(entries) // 2:]
    return check([entry for entry in entries if entry not in apart]) + check(apart)


def groups(entries):
    def kind(entry):
        return [word for word in split(entry)[0] if not word.startswith("-I")]

    entries = sorted(entries, key=lambda entry: (kind(entry), entry["file"]))
    for _, same in itertools.groupby(entries, kind):
        same = list(same)
        yield from (same[at:at + FILES_AT_ONCE] for at in range(0, len(same), FILES_AT_ONCE))


def write_record(keys):
    record.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=record.parent, delete=False) as text:
        text.write("\n".join(keys))
    os.replace(text.name, record)


version = subprocess.run([TIDY, "--version"], check=True, capture_output=True, text=True).stdout
tool = version + "".join(sources.read(path) for path in sources.files()
                         if path.name == ".clang-tidy")
clean = record.read_text().split() if record.exists() else []
entries = [entry for entry in json.loads((build / "compile_commands.json").read_text())
           if is_checked(entry)]
made_of = dependencies()
# A file that the build has not compiled has no key.
keys = {entry["file"]: key(entry, made_of[split(entry)[1]]) for entry in entries
        if split(entry)[1] in made_of}
known = set(clean)
open_entries = [entry for entry in entries if keys.get(entry["file"]) not in known]
failed = 0
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    largest_first = sorted(groups(open_entries), key=len, reverse=True)
    for entry, findings in itertools.chain.from_iterable(pool.map(check, largest_first)):
        if findings:
            failed += 1
            print(findings)
            keys.pop(entry["file"], None)
# The keys of this run first, so that the oldest ones fall out.
write_record(list(dict.fromkeys([*keys.values(), *clean]))[:KEYS_KEPT])
print(f"{len(entries)} files, {len(entries) - len(open_entries)} of them unchanged since a clean "
      f"run, {failed} with findings")
sys.exit(1 if failed or not entries else 0)
