"""Writes the tokenizer entries of a GGUF file as JSON, and its token tests as vectors.

    gguf_vocabulary.py FILE.gguf VOCABULARY.json [VECTORS.json]

Token tests are FILE.gguf.inp (texts) and FILE.gguf.out (a line of ids each) where they exist.
"""

import json
import os
import struct
import sys

SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
DIVIDER = "\n__ggml_vocab_test__\n"


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, layout):
        values = struct.unpack_from("<" + layout, self.data, self.at)
        self.at += struct.calcsize("<" + layout)
        return values

    def string(self):
        (length,) = self.take("Q")
        self.at += length
        return self.data[self.at - length : self.at].decode()

    def value(self, kind):
        if kind == 8:
            return self.string()
        if kind == 9:
            kind, count = self.take("IQ")
            if kind == 8:
                return [self.string() for _ in range(count)]
            return list(self.take(str(count) + SCALARS[kind]))
        return self.take(SCALARS[kind])[0]


def tokenizer_entries(path):
    reader = Reader(open(path, "rb").read())
    assert reader.take("4s") == (b"GGUF",)
    _, _, keys = reader.take("IQQ")
    entries = {}
    for _ in range(keys):
        key = reader.string()
        (kind,) = reader.take("I")
        value = reader.value(kind)
        if key.startswith("tokenizer.ggml."):
            entries[key.removeprefix("tokenizer.ggml.")] = value
    entries.pop("precompiled_charsmap", None)
    return entries


def main():
    path, vocabulary = sys.argv[1:3]
    with open(vocabulary, "w") as out:
        json.dump(tokenizer_entries(path), out)
    if len(sys.argv) > 3 and os.path.exists(path + ".inp"):
        texts = open(path + ".inp", newline="").read().split(DIVIDER)
        lines = open(path + ".out", newline="").read().split("\n")
        cases = [{"text": t, "plain": [int(i) for i in l.split()]} for t, l in zip(texts, lines)]
        with open(sys.argv[3], "w") as out:
            json.dump({"source": {"vocabulary": vocabulary}, "cases": cases}, out)


if __name__ == "__main__":
    main()
