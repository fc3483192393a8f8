#!/usr/bin/env python3
"""Makes a tiny random GGUF with the logits that transformers computes
for the very weights that the file holds, after quantisation.

    venv/bin/pip install torch transformers==5.17.0 safetensors numpy gguf==0.19.0
    venv/bin/python tools/oracle/make_gguf.py --out DIR --family qwen2 --type Q8_0 \
        --set vocab_size=97 ...

Writes model.gguf with the expected files of make_checkpoint.py beside it, whose options it shares.
Architecture llama gets the rows of queries and keys permuted so that the lanes of a rope pair lie
side by side, and llama3 scaling folded into rope_freqs.weight. gguf_mixture.py has what is done to
models with experts.
"""

import argparse
import json
import math
import pathlib
import tempfile

import gguf
import numpy
import torch
from safetensors.numpy import load_file

import gguf_mixture
import make_checkpoint
from tiny_model import named_weights

DENSE = {"llama": "llama", "mistral": "llama", "qwen2": "qwen2", "qwen3": "qwen3"}
ARCHITECTURES = {**DENSE, **gguf_mixture.ARCHITECTURES}
OUTER = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
}
LAYER = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def gguf_name(name):
    stem, kind = name.rsplit(".", 1)
    if stem in OUTER:
        return f"{OUTER[stem]}.{kind}"
    layer, inner = stem.removeprefix("model.layers.").split(".", 1)
    return f"blk.{layer}.{LAYER[inner]}.{kind}"


def stored_type(name, values, matrix_type):
    """By the name in the model or in the file; routers are always F32."""
    is_router = name.endswith("mlp.gate.weight")
    if is_router or gguf_mixture.is_always_f32(name, values):
        return gguf.GGMLQuantizationType.F32
    return matrix_type


def store(values, kind):
    """Weights as the file will hold them: an array of the type's bytes."""
    return gguf.quants.quantize(values, kind)


def through_the_file(kind):
    """Rounds a model's weights to what a file of this type gives back."""

    def adjust(model):
        with torch.no_grad():
            for name, weight in named_weights(model):
                values = weight.numpy().astype(numpy.float32)
                stored = stored_type(name, values, kind)
                values = gguf.quants.dequantize(store(values, stored), stored)
                weight.copy_(torch.from_numpy(values.copy()))

    return adjust


def pairs_side_by_side(values, heads):
    """Rows (or entries) of each head from halves (i, i + d/2) to neighbours (2i, 2i + 1)."""
    halves = values.reshape(heads, 2, values.shape[0] // heads // 2, *values.shape[1:])
    return halves.swapaxes(1, 2).reshape(values.shape)


def llama3_divisors(rope, head):
    divisors = []
    for i in range(head // 2):
        wavelength = 2 * math.pi * rope["rope_theta"] ** (2 * i / head)
        turns = rope["original_max_position_embeddings"] / wavelength
        low, high = rope["low_freq_factor"], rope["high_freq_factor"]
        share = min(max((turns - low) / (high - low), 0.0), 1.0)
        divisors.append(1.0 / ((1.0 - share) / rope["factor"] + share))
    return numpy.array(divisors, dtype=numpy.float32)


def write_metadata(writer, config):
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_vocab_size(config.vocab_size)
    head = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    writer.add_key_length(head)
    writer.add_value_length(head)
    writer.add_rope_dimension_count(head)
    writer.add_bos_token_id(config.bos_token_id)
    writer.add_eos_token_id(config.eos_token_id)
    rope = config.rope_parameters
    writer.add_rope_freq_base(rope["rope_theta"])
    if rope["rope_type"] in ("linear", "yarn"):
        writer.add_rope_scaling_type(gguf.RopeScalingType(rope["rope_type"]))
        writer.add_rope_scaling_factor(rope["factor"])
    if rope["rope_type"] == "yarn":
        writer.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
    windows = [kind == "sliding_attention" for kind in getattr(config, "layer_types", None) or []]
    if getattr(config, "sliding_window", None):
        writer.add_sliding_window(config.sliding_window)
        if not all(windows):
            writer.add_sliding_window_pattern(windows)
    if rope["rope_type"] == "llama3":
        writer.add_tensor("rope_freqs.weight", llama3_divisors(rope, head))
    elif rope["rope_type"] not in ("default", "linear", "yarn"):
        raise SystemExit(f"rope type {rope['rope_type']} has no GGUF spelling here")


def dense_tensors(model, family):
    heads = {"q_proj": model.config.num_attention_heads, "k_proj": model.config.num_key_value_heads}
    for name, parameter in model.named_parameters():
        values = parameter.detach().numpy().astype(numpy.float32)
        module = name.split(".")[-2]
        if ARCHITECTURES[family] == "llama" and module in heads:
            values = pairs_side_by_side(values, heads[module])
        yield gguf_name(name), values


def mixture_tensors(model, family):
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        tensors = load_file(pathlib.Path(folder) / "model.safetensors")
    yield from gguf_mixture.convert(tensors, model.config, family)


def write_gguf(out, family, settings, kind="F16", seed=1, prompt_tokens=28, greedy=12,
               border=make_checkpoint.BORDER_LIMIT, ties=0):
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    matrix_type = gguf.GGMLQuantizationType[kind]
    settings = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": None, **settings}
    model, answer = make_checkpoint.find_seed(
        family, settings, "f32", seed, prompt_tokens, greedy, through_the_file(matrix_type),
        border, ties=ties,
    )
    make_checkpoint.write_expected(out, family, answer)
    writer = gguf.GGUFWriter(out / "model.gguf", ARCHITECTURES[family])
    if family in DENSE:
        write_metadata(writer, model.config)
    else:
        gguf_mixture.write_metadata(writer, model.config, family)
    tensors = dense_tensors if family in DENSE else mixture_tensors
    for name, values in tensors(model, family):
        stored = stored_type(name, values, matrix_type)
        writer.add_tensor(name, store(numpy.ascontiguousarray(values), stored), raw_dtype=stored)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--out", required=True)
    parser.add_argument("--family", required=True, choices=ARCHITECTURES)
    parser.add_argument("--type", default="F16", help="of matrices: F32, F16, BF16, Q8_0 ...")
    parser.add_argument("--seed", type=int, default=1, help="the first seed to try")
    parser.add_argument("--prompt-tokens", type=int, default=28)
    parser.add_argument("--greedy", type=int, default=12)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=JSON",
                        help="a key of config.json; may be repeated")
    arguments = parser.parse_args()
    settings = {key: json.loads(value)
                for key, value in (item.split("=", 1) for item in arguments.set)}
    write_gguf(arguments.out, arguments.family, settings, arguments.type, arguments.seed,
               arguments.prompt_tokens, arguments.greedy)


if __name__ == "__main__":
    main()
