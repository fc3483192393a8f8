#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <zllm/encoding/encoding.h>

#include "edited_json.h"
#include "small_model.h"

// A latent-attention model with experts: hidden 32, 4 layers of which the first is dense,
// vocabulary
// 40. 2 heads: latent 8, nope 6, rope 4, value 5, query rank 12. Intermediates 48 dense, 16 of the
// 4 experts, of which 2 are chosen, and of the shared one. Indexers with 2 heads of 8 in layers 0
// and 2, which layers 1 and 3 share.
namespace zllm::weight::testing {

// A tensor with bytes of its size, all zero, so that parts of it can be views.
inline void put(TensorList& list, const std::string& name, const Shape& shape,
                encoding::Encoding encoding = encoding::Encoding::f32) {
  static const std::vector<std::byte> kZeros(1U << 16);
  std::uint64_t rows = 1;
  for (std::size_t i = 0; i + 1 < shape.size(); ++i) {
    rows *= shape[i];
  }
  const std::uint64_t size = rows * encoding::row_bytes(encoding, shape.back()).value_or(0);
  ASSERT_LE(size, kZeros.size());
  list.set(name, shape, encoding, std::span(kZeros).first(size));
}

constexpr std::uint32_t kLatentLayers = 4;

inline void put_hub_attention(TensorList& list, const std::string& layer) {
  put(list, layer + "input_layernorm.weight", {32});
  put(list, layer + "post_attention_layernorm.weight", {32});
  const std::string attention = layer + "self_attn.";
  put(list, attention + "q_a_proj.weight", {12, 32});
  put(list, attention + "q_a_layernorm.weight", {12});
  put(list, attention + "q_b_proj.weight", {20, 12});
  put(list, attention + "kv_a_proj_with_mqa.weight", {12, 32});
  put(list, attention + "kv_a_layernorm.weight", {8});
  put(list, attention + "kv_b_proj.weight", {22, 8});
  put(list, attention + "o_proj.weight", {32, 10});
}

inline void put_hub_indexer(TensorList& list, const std::string& layer) {
  const std::string indexer = layer + "self_attn.indexer.";
  put(list, indexer + "wq_b.weight", {16, 12});
  put(list, indexer + "wk.weight", {8, 32});
  put(list, indexer + "k_norm.weight", {8});
  put(list, indexer + "k_norm.bias", {8});
  put(list, indexer + "weights_proj.weight", {2, 32});
}

inline void put_hub_mlp(TensorList& list, const std::string& block, std::uint64_t intermediate) {
  put(list, block + "gate_proj.weight", {intermediate, 32});
  put(list, block + "up_proj.weight", {intermediate, 32});
  put(list, block + "down_proj.weight", {32, intermediate});
}

inline void put_hub_experts(TensorList& list, const std::string& layer) {
  put(list, layer + "mlp.gate.weight", {4, 32});
  put(list, layer + "mlp.gate.e_score_correction_bias", {4});
  for (const std::string expert : {"0.", "1.", "2.", "3."}) {
    put_hub_mlp(list, layer + "mlp.experts." + expert, 16);
  }
  put_hub_mlp(list, layer + "mlp.shared_experts.", 16);
}

inline TensorList hub_latent_tensors(const std::string& prefix = "model.",
                                     const std::string& head = "lm_head.weight") {
  TensorList list;
  put(list, prefix + "embed_tokens.weight", {40, 32});
  put(list, prefix + "norm.weight", {32});
  put(list, head, {40, 32});
  for (std::uint32_t i = 0; i < kLatentLayers; ++i) {
    const std::string layer = prefix + "layers." + std::to_string(i) + ".";
    put_hub_attention(list, layer);
    if (i % 2 == 0) {
      put_hub_indexer(list, layer);
    }
    if (i == 0) {
      put_hub_mlp(list, layer + "mlp.", 48);
    } else {
      put_hub_experts(list, layer);
    }
  }
  return list;
}

constexpr const char *kLatentConfig = R"({"model_type": "glm_moe_dsa", "vocab_size": 40,
  "hidden_size": 32, "intermediate_size": 48, "moe_intermediate_size": 16, "num_hidden_layers": 4,
  "num_attention_heads": 2, "q_lora_rank": 12, "kv_lora_rank": 8, "qk_nope_head_dim": 6,
  "qk_rope_head_dim": 4, "v_head_dim": 5, "n_routed_experts": 4, "num_experts_per_tok": 2,
  "n_shared_experts": 1, "first_k_dense_replace": 1, "index_n_heads": 2, "index_head_dim": 8,
  "index_topk": 4, "indexer_types": ["full", "shared", "full", "shared"], "bos_token_id": 1,
  "eos_token_id": [2, 3]})";

inline void put_gguf_block(TensorList& list, std::uint32_t number) {
  const std::string block = "blk." + std::to_string(number) + ".";
  put(list, block + "attn_norm.weight", {32});
  put(list, block + "ffn_norm.weight", {32});
  put(list, block + "attn_q_a.weight", {12, 32});
  put(list, block + "attn_q_a_norm.weight", {12});
  put(list, block + "attn_q_b.weight", {20, 12});
  put(list, block + "attn_kv_a_mqa.weight", {12, 32});
  put(list, block + "attn_kv_a_norm.weight", {8});
  put(list, block + "attn_k_b.weight", {2, 8, 6});
  put(list, block + "attn_v_b.weight", {2, 5, 8});
  put(list, block + "attn_output.weight", {32, 10});
  put(list, block + "indexer.attn_q_b.weight", {16, 12});
  put(list, block + "indexer.attn_k.weight", {8, 32});
  put(list, block + "indexer.k_norm.weight", {8});
  put(list, block + "indexer.k_norm.bias", {8});
  put(list, block + "indexer.proj.weight", {2, 32});
  if (number == 0) {
    put(list, block + "ffn_gate.weight", {48, 32});
    put(list, block + "ffn_up.weight", {48, 32});
    put(list, block + "ffn_down.weight", {32, 48});
    return;
  }
  put(list, block + "ffn_gate_inp.weight", {4, 32});
  put(list, block + "exp_probs_b.bias", {4});
  put(list, block + "ffn_gate_exps.weight", {4, 16, 32});
  put(list, block + "ffn_up_exps.weight", {4, 16, 32});
  put(list, block + "ffn_down_exps.weight", {4, 32, 16});
  put(list, block + "ffn_gate_shexp.weight", {16, 32});
  put(list, block + "ffn_up_shexp.weight", {16, 32});
  put(list, block + "ffn_down_shexp.weight", {32, 16});
}

// As converters write it: every layer has an indexer, and a layer that drafts comes last.
inline TensorList gguf_latent_tensors() {
  TensorList list;
  put(list, "token_embd.weight", {40, 32});
  put(list, "output_norm.weight", {32});
  put(list, "output.weight", {40, 32});
  for (std::uint32_t i = 0; i <= kLatentLayers; ++i) {
    put_gguf_block(list, i);
  }
  put(list, "blk.4.nextn.eh_proj.weight", {32, 64});
  return list;
}

inline MetadataList gguf_latent_metadata() {
  MetadataList list;
  list.set("general.architecture", std::string_view("glm-dsa"));
  list.set("glm-dsa.block_count", number_of(5)).set("glm-dsa.nextn_predict_layers", number_of(1));
  list.set("glm-dsa.embedding_length", number_of(32));
  list.set("glm-dsa.context_length", number_of(256));
  list.set("glm-dsa.vocab_size", number_of(40));
  list.set("glm-dsa.feed_forward_length", number_of(48));
  list.set("glm-dsa.attention.layer_norm_rms_epsilon", 1e-5);
  list.set("glm-dsa.attention.head_count", number_of(2));
  list.set("glm-dsa.attention.head_count_kv", number_of(1));
  list.set("glm-dsa.attention.q_lora_rank", number_of(12));
  list.set("glm-dsa.attention.kv_lora_rank", number_of(8));
  list.set("glm-dsa.attention.key_length", number_of(12));
  list.set("glm-dsa.attention.value_length", number_of(8));
  list.set("glm-dsa.attention.key_length_mla", number_of(10));
  list.set("glm-dsa.attention.value_length_mla", number_of(5));
  list.set("glm-dsa.rope.dimension_count", number_of(4)).set("glm-dsa.rope.freq_base", 1e6);
  list.set("glm-dsa.leading_dense_block_count", number_of(1));
  list.set("glm-dsa.expert_count", number_of(4)).set("glm-dsa.expert_used_count", number_of(2));
  list.set("glm-dsa.expert_feed_forward_length", number_of(16));
  list.set("glm-dsa.expert_shared_count", number_of(1));
  list.set("glm-dsa.expert_weights_scale", 2.5).set("glm-dsa.expert_weights_norm", true);
  list.set("glm-dsa.expert_gating_func", number_of(2));
  list.set("glm-dsa.attention.indexer.head_count", number_of(2));
  list.set("glm-dsa.attention.indexer.key_length", number_of(8));
  list.set("glm-dsa.attention.indexer.top_k", number_of(4));
  list.set("glm-dsa.attention.indexer.types",
           GgufArray{.items = std::vector<bool>{true, false, true, false}});
  list.set("tokenizer.ggml.bos_token_id", number_of(1));
  list.set("tokenizer.ggml.eos_token_id", number_of(2));
  return list;
}

// The same model as deepseek2, which has no indexer: keys are literals, so they are spelt again.
inline MetadataList gguf_deepseek2_metadata() {
  MetadataList list;
  list.set("general.architecture", std::string_view("deepseek2"));
  list.set("deepseek2.block_count", number_of(4));
  list.set("deepseek2.embedding_length", number_of(32));
  list.set("deepseek2.context_length", number_of(256));
  list.set("deepseek2.vocab_size", number_of(40));
  list.set("deepseek2.feed_forward_length", number_of(48));
  list.set("deepseek2.attention.layer_norm_rms_epsilon", 1e-6);
  list.set("deepseek2.attention.head_count", number_of(2));
  list.set("deepseek2.attention.head_count_kv", number_of(1));
  list.set("deepseek2.attention.q_lora_rank", number_of(12));
  list.set("deepseek2.attention.kv_lora_rank", number_of(8));
  list.set("deepseek2.attention.key_length", number_of(12));
  list.set("deepseek2.attention.value_length", number_of(8));
  list.set("deepseek2.attention.key_length_mla", number_of(10));
  list.set("deepseek2.attention.value_length_mla", number_of(5));
  list.set("deepseek2.rope.dimension_count", number_of(4));
  list.set("deepseek2.leading_dense_block_count", number_of(1));
  list.set("deepseek2.expert_count", number_of(4));
  list.set("deepseek2.expert_used_count", number_of(2));
  list.set("deepseek2.expert_feed_forward_length", number_of(16));
  list.set("deepseek2.expert_shared_count", number_of(1));
  list.set("deepseek2.expert_weights_scale", 2.5).set("deepseek2.expert_weights_norm", true);
  return list;
}

// Without the layer that drafts and without indexers.
inline TensorList gguf_deepseek2_tensors() {
  return gguf_latent_tensors().remove_all("indexer").remove_all("blk.4.");
}

}  // namespace zllm::weight::testing
