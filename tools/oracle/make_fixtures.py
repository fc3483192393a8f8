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
DEEPSEEK_YARN = {"rope_type": "yarn", "rope_theta": 1000.0, "factor": 4.0, "mscale": 0.7,
                 "mscale_all_dim": 0.9, "beta_fast": 16.0, "beta_slow": 1.0,
                 "original_max_position_embeddings": 16}
KIMI_YARN = {**DEEPSEEK_YARN, "mscale": 1.0, "mscale_all_dim": 1.0}


def latent(heads, nope, rope, value, latent_rank, query_rank=None):
    return {"num_attention_heads": heads, "num_key_value_heads": heads, "qk_nope_head_dim": nope,
            "qk_rope_head_dim": rope, "v_head_dim": value, "kv_lora_rank": latent_rank,
            "q_lora_rank": query_rank}


def experts(count, chosen, width, groups=1, kept=1, scaling=1.5, shared=1):
    return {"n_routed_experts": count, "num_experts_per_tok": chosen,
            "moe_intermediate_size": width, "n_group": groups, "topk_group": kept,
            "routed_scaling_factor": scaling, "n_shared_experts": shared}


def kimi_experts(count, chosen, width, groups=1, kept=1):
    return {"num_experts": count, "num_experts_per_token": chosen, "moe_intermediate_size": width,
            "num_expert_group": groups, "topk_group": kept, "num_shared_experts": 1,
            "routed_scaling_factor": 1.7}


def indexer(heads, width, top_k, **others):
    return {"index_n_heads": heads, "index_head_dim": width, "index_topk": top_k, **others}


def linear(heads, width, taps):
    return {"linear_num_heads": heads, "linear_head_dim": width, "linear_conv_kernel_dim": taps}


def body(vocabulary, hidden, intermediate, layers, **others):
    return {"vocab_size": vocabulary, "hidden_size": hidden, "intermediate_size": intermediate,
            "num_hidden_layers": layers, "max_position_embeddings": 256, "rms_norm_eps": 1e-5,
            **others}


def layer_types(letters, other="full_attention"):
    """L and F for layers with linear and with full attention."""
    kinds = {"L": "linear_attention", "F": other}
    return {"layer_types": [kinds[letter] for letter in letters]}


def mlp_types(letters):
    kinds = {"D": "dense", "S": "sparse"}
    return {"mlp_layer_types": [kinds[letter] for letter in letters]}


def glm5_layers(letters):
    return layer_types(letters, other="deepseek_sparse_attention")


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
    "qwen2-moe-gated": dict(
        family="qwen2_moe", dtype="bf16", prompt_tokens=26,
        settings=sizes(67, 40, 48, 5, 5, num_experts=6, num_experts_per_tok=2,
                       moe_intermediate_size=12, shared_expert_intermediate_size=20,
                       mlp_only_layers=[1], norm_topk_prob=False, max_position_embeddings=128)
        | {"num_hidden_layers": 3}),
    "qwen3-moe-steps": dict(
        family="qwen3_moe", dtype="bf16", prompt_tokens=30,
        settings=sizes(67, 32, 40, 6, 2, head_dim=6, num_experts=7, num_experts_per_tok=3,
                       moe_intermediate_size=12, decoder_sparse_step=2, mlp_only_layers=[3],
                       norm_topk_prob=False, attention_bias=True, tie_word_embeddings=True,
                       max_position_embeddings=128) | {"num_hidden_layers": 4}),
    "qwen3-moe-fused": dict(
        family="qwen3_moe", dtype="f16", prompt_tokens=25,
        spelling=["fused_experts", "transformers4"],
        settings=sizes(73, 36, 52, 5, 1, head_dim=8, num_experts=5, num_experts_per_tok=2,
                       moe_intermediate_size=28, norm_topk_prob=True, max_position_embeddings=128,
                       use_sliding_window=True, sliding_window=9)),
    "glm4-moe-groups": dict(
        family="glm4_moe", dtype="bf16", prompt_tokens=27,
        settings=sizes(71, 32, 44, 6, 3, head_dim=12, use_qk_norm=True, attention_bias=True,
                       partial_rotary_factor=0.5, max_position_embeddings=128,
                       first_k_dense_replace=1, norm_topk_prob=True,
                       **experts(6, 2, 10, groups=3, kept=2, shared=2)) | {"num_hidden_layers": 2}),
    "glm4-moe-plain": dict(
        family="glm4_moe", dtype="f32", prompt_tokens=21, spelling=["transformers4"],
        settings=sizes(67, 32, 44, 5, 1, head_dim=8, use_qk_norm=False,
                       partial_rotary_factor=0.5, max_position_embeddings=128,
                       first_k_dense_replace=0, norm_topk_prob=True,
                       **experts(5, 2, 12)) | {"num_hidden_layers": 1}),
    "deepseek-v3-groups": dict(
        family="deepseek_v3", dtype="f16", prompt_tokens=37,
        settings=body(71, 32, 44, 3, first_k_dense_replace=1, rope_parameters=DEEPSEEK_YARN,
                      **latent(3, 12, 8, 10, 20), **experts(9, 3, 8, groups=3, kept=2))),
    "deepseek-v3-halves": dict(
        family="deepseek_v3", dtype="bf16", prompt_tokens=23, spelling=["fused_experts"],
        settings=body(77, 36, 52, 2, first_k_dense_replace=1, rope_interleave=False,
                      attention_bias=True, tie_word_embeddings=True,
                      **latent(5, 8, 6, 14, 12, 20), **experts(6, 2, 20, groups=2, kept=1))),
    "kimi-k2-yarn": dict(
        family="deepseek_v3", dtype="bf16", prompt_tokens=33, spelling=["transformers4", "kimi_k2"],
        settings=body(79, 32, 44, 3, first_k_dense_replace=1, rope_parameters=KIMI_YARN,
                      **latent(5, 10, 4, 12, 16, 24), **experts(7, 3, 10, scaling=2.827))),
    "deepseek-v32-yarn": dict(
        family="deepseek_v32", dtype="bf16", prompt_tokens=34, ties=1000,
        settings=body(71, 32, 40, 2, first_k_dense_replace=1, rope_parameters=DEEPSEEK_YARN,
                      **latent(3, 12, 8, 10, 16, 24), **experts(6, 2, 8, groups=3, kept=2),
                      **indexer(3, 12, 7))),
    "glm-dsa-pattern": dict(
        family="glm_moe_dsa", dtype="bf16", prompt_tokens=43, spelling=["index_pattern"],
        settings=body(64, 32, 36, 5,
                      indexer_types=["full", "shared", "shared", "full", "shared"],
                      **mlp_types("DSDSD"), **latent(5, 8, 6, 6, 10, 12), **experts(4, 2, 8),
                      **indexer(6, 8, 6))),
    "glm-dsa-schedule": dict(
        family="glm_moe_dsa", dtype="bf16", prompt_tokens=31, spelling=["transformers4"], ties=1000,
        settings=body(67, 32, 44, 4, first_k_dense_replace=2, index_topk_freq=2,
                      index_skip_topk_offset=3, tie_word_embeddings=True,
                      **latent(6, 6, 4, 6, 10, 12), **experts(4, 3, 8, shared=2),
                      **indexer(3, 10, 9))),
    "kimi-linear-hub": dict(
        family="kimi_linear", dtype="bf16", prompt_tokens=70, spelling=["kimi_hub"],
        settings=body(67, 32, 40, 4, **layer_types("LLFL"), **mlp_types("DSSS"),
                      **latent(3, 10, 6, 8, 16), **kimi_experts(5, 2, 6), **linear(3, 8, 3))),
    "kimi-linear-full-first": dict(
        family="kimi_linear", dtype="bf16", prompt_tokens=29,
        settings=body(64, 32, 36, 3, tie_word_embeddings=True, **layer_types("FLL"),
                      **mlp_types("DSD"), **latent(5, 6, 2, 10, 12),
                      **kimi_experts(4, 2, 10, groups=2, kept=1), **linear(2, 6, 4))),
    "glm5-next-pool3": dict(
        family="glm5_next", dtype="bf16", prompt_tokens=41, ties=1000,
        settings=body(67, 32, 36, 4, swiglu_limit=0.6, hc_mult=3, hc_sinkhorn_iters=7,
                      index_kpool=3, **glm5_layers("LFLF"), **mlp_types("DSDS"),
                      **latent(3, 10, 0, 8, 12, 14), **experts(5, 2, 8), **linear(2, 8, 3),
                      **indexer(3, 8, 9))),
    "glm5-next-shared": dict(
        family="glm5_next", dtype="bf16", prompt_tokens=35, spelling=["no_vision"],
        settings=body(67, 32, 36, 4, swiglu_limit=1.0, hc_mult=2, linear_lower_bound=None,
                      index_kpool=2, indexer_types=["full", "full", "shared", "full"],
                      **glm5_layers("LFFL"), **mlp_types("SDSD"),
                      **latent(5, 6, 0, 8, 12, 10), **experts(4, 2, 8), **linear(3, 6, 4),
                      **indexer(6, 6, 8))),
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
    "qwen3moe-gguf-q8": dict(
        # Int8 activations must not change which experts are chosen.
        family="qwen3_moe", kind="Q8_0", prompt_tokens=21, greedy=6, border=0.02,
        settings=sizes(71, 32, 64, 3, 1, head_dim=32, num_experts=4, num_experts_per_tok=2,
                       moe_intermediate_size=32, norm_topk_prob=True, max_position_embeddings=128)),
    "glm4moe-gguf-f32": dict(
        family="glm4_moe", kind="F32", prompt_tokens=23,
        settings=sizes(64, 32, 36, 5, 1, head_dim=8, use_qk_norm=True, attention_bias=True,
                       partial_rotary_factor=0.5, max_position_embeddings=128,
                       first_k_dense_replace=1, norm_topk_prob=True, **experts(4, 2, 10))),
    "deepseek2-gguf-f32": dict(
        family="deepseek_v3", kind="F32", prompt_tokens=26,
        settings=body(64, 32, 36, 2, first_k_dense_replace=1,
                      rope_parameters={**KIMI_YARN, "mscale": 0.8, "mscale_all_dim": 0.8},
                      **latent(3, 10, 4, 8, 12, 16), **experts(6, 2, 8, groups=3, kept=2))
        | {"rms_norm_eps": 1e-6}),
    "glm-dsa-gguf-f32": dict(
        family="glm_moe_dsa", kind="F32", prompt_tokens=34, ties=1000,
        settings=body(62, 32, 36, 3, first_k_dense_replace=1, index_topk_freq=2,
                      index_skip_topk_offset=2, **latent(5, 6, 4, 8, 10, 12), **experts(5, 2, 8),
                      **indexer(3, 8, 9))
        | {"rms_norm_eps": 1e-6}),
    "kimi-linear-gguf-f32": dict(
        family="kimi_linear", kind="F32", prompt_tokens=30,
        settings=body(61, 32, 36, 3, **layer_types("LFL"), **mlp_types("DSS"),
                      **latent(3, 8, 4, 6, 12), **kimi_experts(4, 2, 8), **linear(3, 6, 4))
        | {"rms_norm_eps": 1e-6}),
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
