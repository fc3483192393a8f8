"""Trains the small tokenizers of test/fixtures/text and writes their vectors."""

import json
import os
import sys

import tokenizer_corpus
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]


def train(tokenizer, size, special, alphabet):
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=special, initial_alphabet=alphabet,
                                  show_progress=False)
    tokenizer.train_from_iterator(tokenizer_corpus.texts() * 2, trainer)


def byte_level():
    tokenizer = Tokenizer(models.BPE(ignore_merges=True))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.decoder = decoders.ByteLevel()
    train(tokenizer, 900, SPECIAL, pre_tokenizers.ByteLevel.alphabet())
    tokenizer.add_tokens([AddedToken("<tool_call>", normalized=False), AddedToken("</tool_call>", normalized=False)])
    begin = "<|endoftext|>"
    tokenizer.post_processor = processors.TemplateProcessing(
        single=begin + " $A", special_tokens=[(begin, tokenizer.token_to_id(begin))])
    return tokenizer


def space_marked():
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(),
                                           decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    bytes_ = ["<0x%02X>" % byte for byte in range(256)]
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_next")
    letters = [chr(c) for c in range(0x20, 0x7f)] + ["\u2581"]
    trainer = trainers.BpeTrainer(vocab_size=900, special_tokens=["<unk>", "<s>", "</s>"] + bytes_,
                                  initial_alphabet=letters, limit_alphabet=110, show_progress=False)
    tokenizer.train_from_iterator(tokenizer_corpus.texts() * 2, trainer)
    document = json.loads(tokenizer.to_str())
    document["pre_tokenizer"] = None
    document["added_tokens"] = [t for t in document["added_tokens"] if not t["content"].startswith("<0x")]
    return Tokenizer.from_str(json.dumps(document))


def main():
    folder = sys.argv[1]
    for name, tokenizer in (("byte_level", byte_level()), ("space_marked", space_marked())):
        path = os.path.join(folder, name + ".tokenizer.json")
        document = json.loads(tokenizer.to_str())
        with open(path, "w") as out:
            json.dump(document, out, ensure_ascii=True, separators=(",", ":"))
            out.write("\n")
        here = os.path.dirname(os.path.abspath(__file__))
        status = os.spawnl(os.P_WAIT, sys.executable, sys.executable,
                           os.path.join(here, "tokenizer_vectors.py"), path,
                           os.path.join(folder, name + ".vectors.json"))
        assert status == 0


if __name__ == "__main__":
    main()
