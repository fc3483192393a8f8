#!/usr/bin/env python3
"""What Python's apply_chat_template prints for templates and conversations.

Reads requests, one JSON object a line, and writes {"template": [{"text": ...} or
{"error": class, "message": ...} for every request]} as JSON.
The environment is the one that transformers 5.17 makes in utils/chat_template_utils.py;
--transformers renders with that module itself. Needs jinja2; the clock stands still.

    template_vectors.py --requests R.jsonl --out expected.json TEMPLATE_FILE_OR_FOLDER...
"""

import argparse
import datetime
import functools
import json
import pathlib

import jinja2
import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment

NOW = datetime.datetime(2026, 3, 7, 15, 4, 9)
SPECIAL_TOKENS = {
    "bos_token": "<bos>",
    "eos_token": "<eos>",
    "pad_token": "<pad>",
    "unk_token": "<unk>",
}


class Generation(jinja2.ext.Extension):
    """The block {% generation %}, whose text is a call block's."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        call = self.call_method("_text_of")
        return jinja2.nodes.CallBlock(call, [], [], body).set_lineno(line)

    def _text_of(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(
        x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


def environment():
    made = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )
    made.filters["tojson"] = tojson
    made.globals["raise_exception"] = raise_exception
    made.globals["strftime_now"] = NOW.strftime
    return made


def names_of(request):
    """The names that a template sees: special tokens, then the request, then its extra names."""
    request = dict(request)
    extra = request.pop("chat_template_kwargs", None) or {}
    names = {"tools": None, "documents": None, "add_generation_prompt": True}
    names.update(SPECIAL_TOKENS)
    names.update(request)
    names.update(extra)
    return names


@functools.lru_cache
def compiled(source):
    return environment().from_string(source)


def render_here(source, names):
    return compiled(source).render(**names)


def render_in_transformers(source, names):
    from transformers.utils import chat_template_utils

    class Clock(datetime.datetime):
        @classmethod
        def now(cls, tz=None):
            return NOW

    chat_template_utils.datetime = Clock
    names = dict(names)
    messages = names.pop("messages")
    texts, _ = chat_template_utils.render_jinja_template([messages], chat_template=source, **names)
    return texts[0]


def outcome(render, source, names):
    try:
        if not names["messages"]:
            raise ValueError("apply_chat_template refuses an empty conversation")
        text = render(source, names)
        text.encode("utf-8")
        return {"text": text}
    except Exception as error:  # every failure of a template is a result here
        return {"error": type(error).__name__, "message": str(error)}


def template_files(places):
    for place in map(pathlib.Path, places):
        yield from sorted(place.glob("*.jinja")) if place.is_dir() else [place]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--transformers", action="store_true")
    parser.add_argument("templates", nargs="+")
    options = parser.parse_args()
    render = render_in_transformers if options.transformers else render_here
    lines = pathlib.Path(options.requests).read_text("utf-8").rstrip("\n").split("\n")
    requests = [json.loads(line) for line in lines]
    expected = {}
    for file in template_files(options.templates):
        source = file.read_text("utf-8")
        expected[file.stem] = [outcome(render, source, names_of(request)) for request in requests]
    text = json.dumps(expected, ensure_ascii=False, separators=(",", ":"))
    pathlib.Path(options.out).write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
