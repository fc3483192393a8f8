"""How GGUF files hold models with routed experts, latent attention and delta attention: metadata,
and names and shapes of tensors as the converters make them from a checkpoint in Hub layout."""

import re

import gguf
import numpy

ARCHITECTURES = {"qwen3_moe": "qwen3moe", "glm4_moe": "glm4moe", "deepseek_v3": "deepseek2",
                 "glm_moe_dsa": "glm-dsa", "kimi_linear": "kimi-linear"}
OUTER = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight",
         "lm_head.weight": "output.weight"}
LAYER = {
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "self_attn.q_a_proj": "attn_q_a",
    "self_attn.q_a_layernorm": "attn_q_a_norm",
    "self_attn.q_b_proj": "attn_q_b",
    "self_attn.kv_a_proj_with_mqa": "attn_kv_a_mqa",
    "self_attn.kv_a_layernorm": "attn_kv_a_norm",
    "self_attn.indexer.wq_b": "indexer.attn_q_b",
    "self_attn.indexer.wk": "indexer.attn_k",
    "self_attn.indexer.k_norm": "indexer.k_norm",
    "self_attn.indexer.weights_proj": "indexer.proj",
    "self_attn.f_a_proj": "ssm_f_a",
    "self_attn.f_b_proj": "ssm_f_b",
    "self_attn.b_proj": "ssm_beta",
    "self_attn.g_a_proj": "ssm_g_a",
    "self_attn.g_b_proj": "ssm_g_b",
    "self_attn.o_norm": "ssm_norm",
    "self_attn.q_conv1d": "ssm_conv1d_q",
    "self_attn.k_conv1d": "ssm_conv1d_k",
    "self_attn.v_conv1d": "ssm_conv1d_v",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "mlp.gate": "ffn_gate_inp",
    "mlp.shared_experts.gate_proj": "ffn_gate_shexp",
    "mlp.shared_experts.up_proj": "ffn_up_shexp",
    "mlp.shared_experts.down_proj": "ffn_down_shexp",
}
EXPERT = {"gate_proj": "ffn_gate_exps", "up_proj": "ffn_up_exps", "down_proj": "ffn_down_exps",
          "w1": "ffn_gate_exps", "w3": "ffn_up_exps", "w2": "ffn_down_exps"}
EXPERT_PATTERN = re.compile(r"mlp\.experts\.(\d+)\.(\w+)\.weight")


def split_up_projection(values, config):
    """kv_b_proj as keys [heads, latent, nope] and values [heads, value, latent]."""
    heads = values.reshape(config.num_attention_heads, -1, config.kv_lora_rank)
    keys = heads[:, : config.qk_nope_head_dim].swapaxes(1, 2)
    return keys, heads[:, config.qk_nope_head_dim :]


def of_layer(inner, values, config, family):
    """The names and values that one tensor of a layer becomes."""
    if inner == "self_attn.kv_b_proj.weight":
        keys, rest = split_up_projection(values, config)
        return [("attn_k_b.weight", keys), ("attn_v_b.weight", rest)]
    if inner == "self_attn.A_log":
        return [("ssm_a", -numpy.exp(values.reshape(-1, 1)))]
    if inner == "self_attn.dt_bias":
        return [("ssm_dt.bias", values)]
    if inner == "mlp.gate.e_score_correction_bias":
        return [("exp_probs_b.bias", values)]
    stem, kind = inner.rsplit(".", 1)
    name = LAYER[stem]
    if name == "ffn_norm" and family == "glm4_moe":
        name = "post_attention_norm"
    if name.startswith("ssm_conv1d"):
        values = values[None]
    return [(f"{name}.{kind}", values)]


def convert(tensors, config, family):
    """GGUF names and f32 values of the tensors of a Hub checkpoint."""
    stacks = {}
    for name, values in tensors.items():
        if name in OUTER:
            yield OUTER[name], values
            continue
        layer, inner = name.removeprefix("model.layers.").split(".", 1)
        inner = inner.replace("block_sparse_moe.", "mlp.")
        expert = EXPERT_PATTERN.fullmatch(inner)
        if expert is not None:
            stacks.setdefault(f"blk.{layer}.{EXPERT[expert[2]]}.weight", {})[int(expert[1])] = values
            continue
        for stored, converted in of_layer(inner, values, config, family):
            yield f"blk.{layer}.{stored}", converted
    for name, experts in stacks.items():
        yield name, numpy.stack([experts[i] for i in range(len(experts))])


def is_always_f32(name, values):
    """Vectors, routers and what the recurrence reads keep their precision in every file."""
    return values.ndim == 1 or "ffn_gate_inp" in name or ".ssm_a" in name or "conv1d" in name


def write_latent(writer, config):
    latent, rope = config.kv_lora_rank, config.qk_rope_head_dim
    writer.add_key_length(latent + rope)
    writer.add_value_length(latent)
    writer.add_key_length_mla(config.qk_nope_head_dim + rope)
    writer.add_value_length_mla(config.v_head_dim)
    writer.add_kv_lora_rank(latent)
    writer.add_rope_dimension_count(rope)
    if config.q_lora_rank is not None:
        writer.add_q_lora_rank(config.q_lora_rank)


def write_indexer(writer, config):
    writer.add_indexer_head_count(config.index_n_heads)
    writer.add_indexer_key_length(config.index_head_dim)
    writer.add_indexer_top_k(config.index_topk)
    writer.add_array(f"{writer.arch}.attention.indexer.types",
                     [kind == "full" for kind in config.indexer_types])


def write_experts(writer, config, family):
    writer.add_expert_count(config.num_local_experts)
    writer.add_expert_used_count(config.num_experts_per_tok)
    writer.add_expert_feed_forward_length(config.moe_intermediate_size)
    if family == "qwen3_moe":
        return
    kinds = getattr(config, "mlp_layer_types", None)
    dense = kinds.index("sparse") if kinds else config.first_k_dense_replace
    writer.add_leading_dense_block_count(dense)
    writer.add_expert_shared_count(config.n_shared_experts)
    writer.add_expert_weights_scale(config.routed_scaling_factor)
    writer.add_expert_weights_norm(config.norm_topk_prob)
    writer.add_expert_group_count(config.n_group)
    writer.add_expert_group_used_count(config.topk_group)
    writer.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)


def write_yarn(writer, rope):
    """Files state one mscale for both of the checkpoint's keys."""
    assert rope["mscale"] == rope["mscale_all_dim"]
    writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
    writer.add_rope_scaling_factor(rope["factor"])
    writer.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
    writer.add_rope_scaling_yarn_log_mul(0.1 * rope["mscale_all_dim"])
    writer.add_rope_scaling_yarn_beta_fast(rope["beta_fast"])
    writer.add_rope_scaling_yarn_beta_slow(rope["beta_slow"])


def write_attention(writer, config, family):
    writer.add_head_count(config.num_attention_heads)
    if family == "kimi_linear":
        # Linear layers have as many heads as the others: files do not tell them.
        assert config.linear_num_heads == config.num_attention_heads
        writer.add_head_count_kv([int(kind == "full_attention") for kind in config.layer_types])
        writer.add_ssm_conv_kernel(config.linear_conv_kernel_dim)
        writer.add_kda_head_dim(config.linear_head_dim)
        write_latent(writer, config)
        return
    rope = config.rope_parameters
    writer.add_rope_freq_base(rope["rope_theta"])
    if family in ("deepseek_v3", "glm_moe_dsa"):
        writer.add_head_count_kv(1)
        write_latent(writer, config)
        if family == "glm_moe_dsa":
            write_indexer(writer, config)
    else:
        writer.add_head_count_kv(config.num_key_value_heads)
        writer.add_key_length(config.head_dim)
        writer.add_value_length(config.head_dim)
        rotated = config.head_dim * rope.get("partial_rotary_factor", 1.0)
        writer.add_rope_dimension_count(int(rotated))
    if rope["rope_type"] == "yarn":
        write_yarn(writer, rope)


def write_metadata(writer, config, family):
    if family in ("deepseek_v3", "glm_moe_dsa", "kimi_linear"):
        # One epsilon for all norms, where the checkpoint's inner ones have transformers' default.
        assert config.rms_norm_eps == 1e-6
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_vocab_size(config.vocab_size)
    writer.add_bos_token_id(config.bos_token_id)
    writer.add_eos_token_id(config.eos_token_id)
    write_attention(writer, config, family)
    write_experts(writer, config, family)
