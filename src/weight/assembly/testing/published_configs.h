#pragma once

#include <string>
#include <string_view>

#include <zllm/base/json.h>

#include "edited_json.h"

// What the config.json files of published latent-attention models say, without the keys that no
// reader of a model looks at.
namespace zllm::weight::testing {

constexpr std::string_view kDeepseekV3 = R"({
  "architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3",
  "attention_bias": false, "attention_dropout": 0.0, "bos_token_id": 0, "eos_token_id": 1,
  "ep_size": 1, "first_k_dense_replace": 3, "hidden_act": "silu", "hidden_size": 7168,
  "intermediate_size": 18432, "kv_lora_rank": 512, "max_position_embeddings": 163840,
  "moe_intermediate_size": 2048, "moe_layer_freq": 1, "n_group": 8, "n_routed_experts": 256,
  "n_shared_experts": 1, "norm_topk_prob": true, "num_attention_heads": 128,
  "num_experts_per_tok": 8, "num_hidden_layers": 61, "num_key_value_heads": 128,
  "num_nextn_predict_layers": 1, "q_lora_rank": 1536, "qk_nope_head_dim": 128,
  "qk_rope_head_dim": 64, "rms_norm_eps": 1e-06,
  "quantization_config": {"activation_scheme": "dynamic", "fmt": "e4m3", "quant_method": "fp8",
    "weight_block_size": [128, 128]},
  "rope_scaling": {"beta_fast": 32, "beta_slow": 1, "factor": 40, "mscale": 1.0,
    "mscale_all_dim": 1.0, "original_max_position_embeddings": 4096, "type": "yarn"},
  "rope_theta": 10000, "routed_scaling_factor": 2.5, "scoring_func": "sigmoid",
  "tie_word_embeddings": false, "topk_group": 4, "topk_method": "noaux_tc",
  "torch_dtype": "bfloat16", "v_head_dim": 128, "vocab_size": 129280})";

constexpr std::string_view kKimiK2 = R"({
  "architectures": ["DeepseekV3ForCausalLM"], "model_type": "kimi_k2", "attention_bias": false,
  "attention_dropout": 0.0, "aux_loss_alpha": 0.001, "bos_token_id": 163584,
  "eos_token_id": 163586, "first_k_dense_replace": 1, "hidden_act": "silu", "hidden_size": 7168,
  "intermediate_size": 18432, "kv_lora_rank": 512, "max_position_embeddings": 131072,
  "moe_intermediate_size": 2048, "moe_layer_freq": 1, "n_group": 1, "n_routed_experts": 384,
  "n_shared_experts": 1, "norm_topk_prob": true, "num_attention_heads": 64,
  "num_experts_per_tok": 8, "num_hidden_layers": 61, "num_key_value_heads": 64,
  "num_nextn_predict_layers": 0, "pretraining_tp": 1, "q_lora_rank": 1536,
  "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "rms_norm_eps": 1e-06,
  "quantization_config": {"activation_scheme": "dynamic", "fmt": "e4m3", "quant_method": "fp8",
    "weight_block_size": [128, 128]},
  "rope_scaling": {"beta_fast": 1.0, "beta_slow": 1.0, "factor": 32.0, "mscale": 1.0,
    "mscale_all_dim": 1.0, "original_max_position_embeddings": 4096, "type": "yarn"},
  "rope_theta": 50000.0, "routed_scaling_factor": 2.827, "scoring_func": "sigmoid",
  "seq_aux": true, "tie_word_embeddings": false, "topk_group": 1, "topk_method": "noaux_tc",
  "v_head_dim": 128, "vocab_size": 163840})";

constexpr std::string_view kGlm5 = R"({
  "architectures": ["GlmMoeDsaForCausalLM"], "model_type": "glm_moe_dsa", "attention_bias": false,
  "attention_dropout": 0.0, "dtype": "bfloat16", "eos_token_id": [154820, 154827, 154829],
  "ep_size": 1, "first_k_dense_replace": 3, "head_dim": 64, "hidden_act": "silu",
  "hidden_size": 6144, "index_head_dim": 128, "index_n_heads": 32, "index_topk": 2048,
  "indexer_rope_interleave": true, "intermediate_size": 12288, "kv_lora_rank": 512,
  "max_position_embeddings": 202752, "moe_intermediate_size": 2048, "moe_layer_freq": 1,
  "n_group": 1, "n_routed_experts": 256, "n_shared_experts": 1, "norm_topk_prob": true,
  "num_attention_heads": 64, "num_experts_per_tok": 8, "num_hidden_layers": 78,
  "num_key_value_heads": 64, "num_nextn_predict_layers": 1, "pad_token_id": 154820,
  "q_lora_rank": 2048, "qk_head_dim": 256, "qk_nope_head_dim": 192, "qk_rope_head_dim": 64,
  "rms_norm_eps": 1e-05, "rope_interleave": true,
  "rope_parameters": {"rope_theta": 1000000, "rope_type": "default"},
  "routed_scaling_factor": 2.5, "scoring_func": "sigmoid", "tie_word_embeddings": false,
  "topk_group": 1, "topk_method": "noaux_tc", "v_head_dim": 256, "vocab_size": 154880})";

inline Json deepseek_v3() { return without(parse(kDeepseekV3), "quantization_config"); }
inline Json kimi_k2() { return without(parse(kKimiK2), "quantization_config"); }
inline Json glm_5() { return parse(kGlm5); }

inline Json deepseek_v32() {
  Json config = with(deepseek_v3(), "model_type", R"("deepseek_v32")");
  config = with(config, "architectures", R"(["DeepseekV32ForCausalLM"])");
  config = with(config, "index_head_dim", "128");
  return with(with(config, "index_n_heads", "64"), "index_topk", "2048");
}

inline Json strings(std::size_t count, const auto& text_of) {
  Json::Array items;
  for (std::size_t i = 0; i < count; ++i) {
    items.emplace_back(std::string(text_of(i)));
  }
  return Json(std::move(items));
}

// Which layers of GLM-5.2 select for themselves: 21 of 78.
inline bool is_full_in_glm_52(std::size_t layer) {
  return layer < 3 || (layer >= 6 && layer % 4 == 2);
}

inline Json glm_52() {
  Json config = with(glm_5(), "max_position_embeddings", "1048576");
  config = with(config, "rope_parameters", R"({"rope_theta": 8000000, "rope_type": "default"})");
  config = with(with(config, "index_topk_freq", "4"), "index_skip_topk_offset", "3");
  config = with(config, "index_share_for_mtp_iteration", "true");
  config = with(config, "mlp_layer_types",
                strings(78, [](std::size_t i) { return i < 3 ? "dense" : "sparse"; }));
  return with(config, "indexer_types",
              strings(78, [](std::size_t i) { return is_full_in_glm_52(i) ? "full" : "shared"; }));
}

}  // namespace zllm::weight::testing
