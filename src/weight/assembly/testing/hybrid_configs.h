#pragma once

#include <string_view>

#include <zllm/base/json.h>

#include "edited_json.h"

// What the config.json files of published models say, without the keys that no reader of a model
// looks at.
namespace zllm::weight::testing {

constexpr std::string_view kQwen3Moe30B = R"({
  "architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "attention_bias": false,
  "attention_dropout": 0.0, "bos_token_id": 151643, "decoder_sparse_step": 1,
  "eos_token_id": 151645, "head_dim": 128, "hidden_act": "silu", "hidden_size": 2048,
  "intermediate_size": 6144, "max_position_embeddings": 40960, "max_window_layers": 48,
  "mlp_only_layers": [], "moe_intermediate_size": 768, "norm_topk_prob": true,
  "num_attention_heads": 32, "num_experts": 128, "num_experts_per_tok": 8,
  "num_hidden_layers": 48, "num_key_value_heads": 4, "output_router_logits": false,
  "rms_norm_eps": 1e-06, "rope_scaling": null, "rope_theta": 1000000.0,
  "router_aux_loss_coef": 0.001, "sliding_window": null, "tie_word_embeddings": false,
  "use_sliding_window": false, "vocab_size": 151936})";

constexpr std::string_view kGlm45 = R"({
  "architectures": ["Glm4MoeForCausalLM"], "model_type": "glm4_moe", "attention_bias": true,
  "attention_dropout": 0.0, "pad_token_id": 151329, "eos_token_id": [151329, 151336, 151338],
  "head_dim": 128, "hidden_act": "silu", "hidden_size": 5120, "partial_rotary_factor": 0.5,
  "intermediate_size": 12288, "max_position_embeddings": 131072, "moe_intermediate_size": 1536,
  "norm_topk_prob": true, "num_attention_heads": 96, "n_group": 1, "topk_group": 1,
  "n_routed_experts": 160, "n_shared_experts": 1, "routed_scaling_factor": 2.5,
  "num_experts_per_tok": 8, "first_k_dense_replace": 3, "num_hidden_layers": 92,
  "num_key_value_heads": 8, "num_nextn_predict_layers": 1, "rms_norm_eps": 1e-05,
  "rope_scaling": null, "rope_theta": 1000000, "use_qk_norm": true,
  "tie_word_embeddings": false, "vocab_size": 151552})";

constexpr std::string_view kKimiLinear48B = R"({
  "architectures": ["KimiLinearForCausalLM"], "model_type": "kimi_linear",
  "bos_token_id": 163584, "eos_token_id": 163586, "first_k_dense_replace": 1, "head_dim": 72,
  "hidden_act": "silu", "hidden_size": 2304, "intermediate_size": 9216, "kv_lora_rank": 512,
  "linear_attn_config": {"full_attn_layers": [4, 8, 12, 16, 20, 24, 27], "head_dim": 128,
    "kda_layers": [1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15, 17, 18, 19, 21, 22, 23, 25, 26],
    "num_heads": 32, "short_conv_kernel_size": 4},
  "mla_use_nope": true, "model_max_length": 1048576, "moe_intermediate_size": 1024,
  "moe_layer_freq": 1, "moe_renormalize": true, "moe_router_activation_func": "sigmoid",
  "num_attention_heads": 32, "num_expert_group": 1, "num_experts": 256,
  "num_experts_per_token": 8, "num_hidden_layers": 27, "num_key_value_heads": 32,
  "num_nextn_predict_layers": 0, "num_shared_experts": 1, "q_lora_rank": null,
  "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "rms_norm_eps": 1e-05, "rope_scaling": null,
  "rope_theta": 10000.0, "routed_scaling_factor": 2.446, "tie_word_embeddings": false,
  "topk_group": 1, "use_grouped_topk": true, "v_head_dim": 128, "vocab_size": 163840})";

constexpr std::string_view kGlm53Flash = R"({
  "architectures": ["Glm5NextForConditionalGeneration"], "model_type": "glm5_next",
  "image_token_id": 154854, "tie_word_embeddings": false,
  "text_config": {"model_type": "glm5_next_text", "attention_bias": false,
    "eos_token_id": [154820, 154827, 154829], "hc_eps": 1e-06, "hc_mult": 4,
    "hc_sinkhorn_iters": 20, "hidden_act": "silu", "hidden_size": 4096, "index_head_dim": 128,
    "index_kpool": 4, "index_kpool_always_select_tail": true, "index_kpool_compress": true,
    "index_n_heads": 32, "index_topk": 2048, "intermediate_size": 12288, "kv_lora_rank": 512,
    "linear_attn_config": {"head_dim": 128, "num_heads": 64, "short_conv_kernel_size": 4,
      "safe_gate": true, "lower_bound": -5.0},
    "max_position_embeddings": 1048576, "moe_intermediate_size": 2048, "n_group": 1,
    "n_routed_experts": 288, "n_shared_experts": 1, "norm_topk_prob": true,
    "num_attention_heads": 64, "num_experts_per_tok": 8, "num_hidden_layers": 45,
    "num_key_value_heads": 64, "num_nextn_predict_layers": 1, "q_lora_rank": 1536,
    "qk_nope_head_dim": 256, "qk_rope_head_dim": 0, "rms_norm_eps": 1e-05,
    "routed_scaling_factor": 2.5, "scoring_func": "sigmoid", "swiglu_limit": 10.0,
    "topk_group": 1, "topk_method": "noaux_tc", "v_head_dim": 256, "vocab_size": 154880},
  "vision_config": {"model_type": "glm5_next_vision", "depth": 24, "hidden_size": 1024}})";

// An object with one key of an inner object set.
inline Json with_inner(const Json& object, std::string_view inner, std::string_view key,
                       std::string_view value_text) {
  const Json *found = object.find(inner);
  return with(object, inner,
              with(found != nullptr ? *found : Json(Json::Object{}), key, value_text));
}

}  // namespace zllm::weight::testing
