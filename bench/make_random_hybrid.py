#!/usr/bin/env python3
"""Writes a folder with random BF16 weights of GLM-5.3-Flash's kinds of layers, for measuring.

    bench/make_random_hybrid.py folder

Three layers of delta attention to one of latent attention over pooled keys, four residual streams,
routed experts; about 0.5 B parameters. Needs numpy.
"""

import argparse
import json
import pathlib
import struct

import numpy

HIDDEN, VOCABULARY, LAYERS, DENSE_LAYERS = 1536, 16384, 8, 1
HEADS, NOPE, VALUE, LATENT, QUERY_RANK = 16, 192, 192, 512, 512
INDEX_HEADS, INDEX_WIDTH, INDEX_TOP_K, POOL = 8, 128, 2048, 4
DELTA_HEADS, DELTA_WIDTH, TAPS = 16, 128, 4
INTERMEDIATE, EXPERTS, EXPERTS_USED, EXPERT_INTERMEDIATE = 4096, 48, 8, 320
STREAMS = 4
MIX = STREAMS * (STREAMS + 2)


def is_linear(layer):
    return layer % 4 != 3


def config():
    kinds = ["linear_attention" if is_linear(layer) else "deepseek_sparse_attention"
             for layer in range(LAYERS)]
    text = {
        "model_type": "glm5_next_text", "vocab_size": VOCABULARY, "hidden_size": HIDDEN,
        "num_hidden_layers": LAYERS, "layer_types": kinds, "max_position_embeddings": 1048576,
        "mlp_layer_types": ["dense" if layer < DENSE_LAYERS else "sparse"
                            for layer in range(LAYERS)],
        "indexer_types": ["full"] * LAYERS, "hidden_act": "silu", "rms_norm_eps": 1e-5,
        "hc_mult": STREAMS, "hc_eps": 1e-6, "hc_sinkhorn_iters": 20, "head_dim": 0,
        "num_attention_heads": HEADS, "num_key_value_heads": HEADS, "attention_bias": False,
        "q_lora_rank": QUERY_RANK, "kv_lora_rank": LATENT, "qk_head_dim": NOPE,
        "qk_nope_head_dim": NOPE, "qk_rope_head_dim": 0, "v_head_dim": VALUE,
        "index_n_heads": INDEX_HEADS, "index_head_dim": INDEX_WIDTH, "index_topk": INDEX_TOP_K,
        "index_kpool": POOL, "index_kpool_always_select_tail": True,
        "linear_num_heads": DELTA_HEADS, "linear_head_dim": DELTA_WIDTH,
        "linear_conv_kernel_dim": TAPS, "linear_lower_bound": -5.0,
        "intermediate_size": INTERMEDIATE, "moe_intermediate_size": EXPERT_INTERMEDIATE,
        "n_routed_experts": EXPERTS, "num_experts_per_tok": EXPERTS_USED, "n_shared_experts": 1,
        "n_group": 1, "topk_group": 1, "norm_topk_prob": True, "routed_scaling_factor": 2.5,
        "swiglu_limit": 10.0, "tie_word_embeddings": False, "bos_token_id": 1, "eos_token_id": 2,
    }
    return {"architectures": ["Glm5NextForConditionalGeneration"], "model_type": "glm5_next",
            "text_config": text, "tie_word_embeddings": False, "dtype": "bfloat16"}


def delta_attention(prefix):
    channels = DELTA_HEADS * DELTA_WIDTH
    for part in "qkv":
        yield f"{prefix}{part}_proj.weight", [channels, HIDDEN]
        yield f"{prefix}{part}_conv1d.weight", [channels, 1, TAPS]
    for gate in "fg":
        yield f"{prefix}{gate}_a_proj.weight", [DELTA_WIDTH, HIDDEN]
        yield f"{prefix}{gate}_b_proj.weight", [channels, DELTA_WIDTH]
    yield prefix + "A_log", [DELTA_HEADS]
    yield prefix + "dt_bias", [channels]
    yield prefix + "b_proj.weight", [DELTA_HEADS, HIDDEN]
    yield prefix + "o_norm.weight", [DELTA_WIDTH]
    yield prefix + "o_proj.weight", [HIDDEN, channels]


def latent_attention(prefix):
    yield prefix + "q_a_proj.weight", [QUERY_RANK, HIDDEN]
    yield prefix + "q_a_layernorm.weight", [QUERY_RANK]
    yield prefix + "q_b_proj.weight", [HEADS * NOPE, QUERY_RANK]
    yield prefix + "kv_a_proj_with_mqa.weight", [LATENT, HIDDEN]
    yield prefix + "kv_a_layernorm.weight", [LATENT]
    yield prefix + "kv_b_proj.weight", [HEADS * (NOPE + VALUE), LATENT]
    yield prefix + "o_proj.weight", [HIDDEN, HEADS * VALUE]
    indexer = prefix + "indexer."
    yield indexer + "wq_b.weight", [INDEX_HEADS * INDEX_WIDTH, QUERY_RANK]
    yield indexer + "wk.weight", [INDEX_WIDTH, HIDDEN]
    yield indexer + "k_norm.weight", [INDEX_WIDTH]
    yield indexer + "k_norm.bias", [INDEX_WIDTH]
    yield indexer + "weights_proj.weight", [INDEX_HEADS, HIDDEN]
    yield indexer + "index_kpool_compress_gate", [INDEX_WIDTH, HIDDEN]
    yield indexer + "index_kpool_compress_ape", [POOL, INDEX_WIDTH]


def mlp(prefix, intermediate):
    yield prefix + "gate_proj.weight", [intermediate, HIDDEN]
    yield prefix + "up_proj.weight", [intermediate, HIDDEN]
    yield prefix + "down_proj.weight", [HIDDEN, intermediate]


def layer_tensors(prefix, layer):
    for block in ["attn", "ffn"]:
        yield f"{prefix}hc_{block}_fn", [MIX, STREAMS * HIDDEN]
        yield f"{prefix}hc_{block}_base", [MIX]
        yield f"{prefix}hc_{block}_scale", [3]
    yield prefix + "input_layernorm.weight", [HIDDEN]
    yield prefix + "post_attention_layernorm.weight", [HIDDEN]
    attention = delta_attention if is_linear(layer) else latent_attention
    yield from attention(prefix + "self_attn.")
    if layer < DENSE_LAYERS:
        yield from mlp(prefix + "mlp.", INTERMEDIATE)
        return
    yield prefix + "mlp.gate.weight", [EXPERTS, HIDDEN]
    yield prefix + "mlp.gate.e_score_correction_bias", [EXPERTS]
    for expert in range(EXPERTS):
        yield from mlp(f"{prefix}mlp.experts.{expert}.", EXPERT_INTERMEDIATE)
    yield from mlp(prefix + "mlp.shared_experts.", EXPERT_INTERMEDIATE)


def tensors():
    body = "model.language_model."
    yield body + "embed_tokens.weight", [VOCABULARY, HIDDEN]
    for layer in range(LAYERS):
        yield from layer_tensors(f"{body}layers.{layer}.", layer)
    yield body + "norm.weight", [HIDDEN]
    yield "lm_head.weight", [VOCABULARY, HIDDEN]


def values_of(source, name, shape):
    if "norm" in name and name.endswith("weight"):
        return numpy.ones(shape, numpy.float32)
    fans = 1 if "embed" in name else shape[-1]
    return source.standard_normal(shape, numpy.float32) * numpy.float32(0.5 / fans ** 0.5)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.folder.mkdir(parents=True)
    (options.folder / "config.json").write_text(json.dumps(config()))
    header, size = {}, 0
    for name, shape in tensors():
        end = size + 2 * int(numpy.prod(shape))
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [size, end]}
        size = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    source = numpy.random.default_rng(options.seed)
    with open(options.folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name, shape in tensors():
            bits = values_of(source, name, shape).view(numpy.uint32)
            file.write((bits >> 16).astype(numpy.uint16).tobytes())
    print(f"{options.folder}: {size / 2e6:.0f} M parameters")


if __name__ == "__main__":
    main()
