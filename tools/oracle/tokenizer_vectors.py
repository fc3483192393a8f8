"""Writes what Hugging Face `tokenizers` makes of a corpus: ids with and without control tokens.

    tokenizer_vectors.py TOKENIZER_JSON OUT.json [--source NAME=PATH] [--corpus TEXTS.json]

The first test that reads OUT loads the tokenizer from PATH (default: TOKENIZER_JSON itself).
"""

import argparse
import json

import tokenizer_corpus
import tokenizers


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tokenizer_json")
    parser.add_argument("out")
    parser.add_argument("--source", default=None)
    parser.add_argument("--corpus", default=None)
    arguments = parser.parse_args()
    kind, path = "tokenizer_json", arguments.tokenizer_json
    if arguments.source:
        kind, path = arguments.source.split("=", 1)
    corpus = json.load(open(arguments.corpus)) if arguments.corpus else tokenizer_corpus.texts()
    tokenizer = tokenizers.Tokenizer.from_file(arguments.tokenizer_json)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    cases = []
    for text in corpus:
        case = {"text": text}
        for name, plain in (("plain", True), ("special", False)):
            tokenizer.encode_special_tokens = plain
            case[name] = tokenizer.encode(text, add_special_tokens=False).ids
        case["decoded"] = tokenizer.decode(case["special"], skip_special_tokens=False)
        cases.append(case)
    with open(arguments.out, "w") as out:
        json.dump({"source": {kind: path}, "cases": cases}, out, separators=(",", ":"))
        out.write("\n")


if __name__ == "__main__":
    main()
