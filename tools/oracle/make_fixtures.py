#!/usr/bin/env python3
"""Makes every folder of test/fixtures/models; needs what make_gguf.py needs.

    venv/bin/python tools/oracle/make_fixtures.py [NAME ...]

Shapes are odd on purpose: head counts that are no powers of two, heads whose width is not
hidden / heads, rows that end within a vector register.
"""

import pathlib
import sys

import make_checkpoint
import make_gguf

FIXTURES = pathlib.Path(__file__).resolve().parents[2] / "test" / "fixtures" / "models"


def sizes(vocabulary, hidden, intermediate, heads, kv_heads, **others):
    return {
        "vocab_size": vocabulary,
        "hidden_size": hidden,
        "intermediate_size": intermediate,
        "num_hidden_layers": 2,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "rms_norm_eps": 1e-5,
        **others,
    }


LLAMA3 = {"rope_type": "llama3", "rope_theta": 500.0, "factor": 8.0, "low_freq_factor": 1.0,
          "high_freq_factor": 4.0, "original_max_position_embeddings": 32}
YARN = {"rope_type": "yarn", "rope_theta": 1000.0, "factor": 4.0,
        "original_max_position_embeddings": 16}
LONGROPE = {"rope_type": "longrope", "rope_theta": 1000.0, "original_max_position_embeddings": 16,
            "short_factor": [1.0, 1.1, 1.25, 1.5], "long_factor": [1.0, 2.0, 3.5, 4.0]}

CHECKPOINTS = {
    "llama-llama3": dict(
        family="llama", dtype="bf16", prompt_tokens=33,
        settings=sizes(113, 72, 60, 9, 3, max_position_embeddings=128, rope_parameters=LLAMA3,
                       tie_word_embeddings=True)),
    "llama-linear": dict(
        family="llama", dtype="f32", prompt_tokens=24,
        settings=sizes(97, 32, 56, 4, 4, max_position_embeddings=64,
                       rope_parameters={"rope_type": "linear", "rope_theta": 10000.0,
                                        "factor": 2.0})),
    "llama-dynamic": dict(
        family="llama", dtype="f16", prompt_tokens=29,
        settings=sizes(101, 48, 72, 6, 3, max_position_embeddings=16,
                       rope_parameters={"rope_type": "dynamic", "rope_theta": 1000.0,
                                        "factor": 4.0})),
    "llama-yarn": dict(
        family="llama", dtype="bf16", prompt_tokens=31,
        settings=sizes(103, 40, 64, 5, 1, max_position_embeddings=64, rope_parameters=YARN,
                       attention_bias=True, mlp_bias=True)),
    "llama-longrope": dict(
        family="llama", dtype="bf16", prompt_tokens=27,
        settings=sizes(107, 48, 72, 6, 2, max_position_embeddings=64, rope_parameters=LONGROPE)),
    "mistral-window": dict(
        family="mistral", dtype="bf16", prompt_tokens=34,
        settings=sizes(109, 40, 72, 4, 2, max_position_embeddings=128, head_dim=16,
                       sliding_window=5)),
    "qwen2-window": dict(
        family="qwen2", dtype="bf16", prompt_tokens=30,
        settings=sizes(127, 56, 80, 7, 1, max_position_embeddings=128, use_sliding_window=True,
                       sliding_window=6, max_window_layers=1)),
    "qwen3-wide": dict(
        family="qwen3", dtype="bf16", prompt_tokens=29,
        settings=sizes(131, 40, 72, 6, 2, max_position_embeddings=128, head_dim=16,
                       attention_bias=True, tie_word_embeddings=True,
                       rope_parameters={"rope_type": "default", "rope_theta": 1e6})),
}

GGUFS = {
    "llama-gguf-f16": dict(
        family="llama", kind="F16", prompt_tokens=33,
        settings=sizes(113, 72, 60, 9, 3, max_position_embeddings=128, rope_parameters=LLAMA3,
                       attention_bias=True, tie_word_embeddings=True)),
    "qwen2-gguf-f32": dict(
        family="qwen2", kind="F32", prompt_tokens=26,
        settings=sizes(101, 40, 56, 5, 1, max_position_embeddings=128)),
    "qwen3-gguf-q8": dict(
        family="qwen3", kind="Q8_0", prompt_tokens=30,
        settings=sizes(131, 64, 96, 3, 1, max_position_embeddings=128, head_dim=32,
                       tie_word_embeddings=False)),
    "llama-gguf-q8-yarn": dict(
        family="llama", kind="Q8_0", prompt_tokens=28,
        settings=sizes(109, 64, 96, 4, 2, max_position_embeddings=64, rope_parameters=YARN)),
}


def main():
    names = sys.argv[1:] or [*CHECKPOINTS, *GGUFS]
    for name in names:
        print(name)
        if name in CHECKPOINTS:
            make_checkpoint.write_checkpoint(FIXTURES / name, **CHECKPOINTS[name])
        else:
            make_gguf.write_gguf(FIXTURES / name, **GGUFS[name])


if __name__ == "__main__":
    main()
