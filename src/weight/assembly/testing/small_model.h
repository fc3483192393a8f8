#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <zllm/base/mapped_file.h>
#include <zllm/weight/container/gguf_metadata.h>
#include <zllm/weight/container/tensor_table.h>

namespace zllm::weight::testing {

using Shape = std::vector<std::uint64_t>;

// Zeros for a tensor of that shape; nothing when it has no whole blocks or is not small.
inline std::span<const std::byte> zeros_of(const TensorEntry& entry) {
  static const std::array<std::byte, std::size_t{1} << 16U> zeros{};
  std::uint64_t elements = 1;
  for (const std::uint64_t dimension : entry.shape) {
    elements *= dimension;
  }
  const auto bytes = encoding::row_bytes(entry.encoding, elements);
  const bool fits = bytes && *bytes <= zeros.size();
  return fits ? std::span(zeros).first(*bytes) : std::span<const std::byte>();
}

// A list of tensors, of zeros where no bytes are given, edited by name and made into a table.
class TensorList {
 public:
  TensorList& set(const std::string& name, Shape shape,
                  encoding::Encoding encoding = encoding::Encoding::f32,
                  std::span<const std::byte> bytes = {}) {
    remove(name);
    entries_.push_back(
        {.name = name, .encoding = encoding, .shape = std::move(shape), .bytes = bytes, .file = 0});
    if (bytes.empty()) {
      entries_.back().bytes = zeros_of(entries_.back());
    }
    return *this;
  }
  TensorList& remove(const std::string& name) {
    std::erase_if(entries_, [&](const TensorEntry& entry) { return entry.name == name; });
    return *this;
  }
  // Removes every tensor whose name has the part.
  TensorList& remove_all(std::string_view part) {
    std::erase_if(entries_, [&](const TensorEntry& entry) {
      return entry.name.find(part) != std::string::npos;
    });
    return *this;
  }
  TensorTable table() const {
    TensorTable table;
    // Any file will do: the entries name its index, and their bytes lie elsewhere.
    auto file = MappedFile::open("LICENSE");
    EXPECT_TRUE(file.ok());
    table.add_file(std::move(file).value());
    for (const TensorEntry& entry : entries_) {
      EXPECT_TRUE(table.add(entry).ok());
    }
    return table;
  }

 private:
  std::vector<TensorEntry> entries_;
};

// Metadata edited by key; keys and strings are literals.
class MetadataList {
 public:
  MetadataList& set(std::string_view key, GgufValue value) {
    remove(key);
    items_.emplace_back(key, std::move(value));
    return *this;
  }
  MetadataList& remove(std::string_view key) {
    std::erase_if(items_, [&](const auto& item) { return item.first == key; });
    return *this;
  }
  GgufMetadata metadata() const {
    GgufMetadata metadata;
    for (const auto& [key, value] : items_) {
      EXPECT_TRUE(metadata.add(key, value).ok());
    }
    return metadata;
  }

 private:
  std::vector<std::pair<std::string_view, GgufValue>> items_;
};

inline GgufValue number_of(std::uint64_t value) { return GgufValue(value); }

// Hidden 32, intermediate 48, 2 layers, 4 query and 2 key heads of 8, vocabulary 40, tied.
inline TensorList gguf_tensors() {
  TensorList list;
  list.set("token_embd.weight", {40, 32}).set("output_norm.weight", {32});
  for (const std::string layer : {"blk.0.", "blk.1."}) {
    list.set(layer + "attn_norm.weight", {32}).set(layer + "ffn_norm.weight", {32});
    list.set(layer + "attn_q.weight", {32, 32}).set(layer + "attn_k.weight", {16, 32});
    list.set(layer + "attn_v.weight", {16, 32}).set(layer + "attn_output.weight", {32, 32});
    list.set(layer + "ffn_gate.weight", {48, 32}).set(layer + "ffn_up.weight", {48, 32});
    list.set(layer + "ffn_down.weight", {32, 48});
  }
  return list;
}

inline MetadataList gguf_metadata() {
  MetadataList list;
  list.set("general.architecture", std::string_view("llama"));
  list.set("llama.block_count", number_of(2)).set("llama.embedding_length", number_of(32));
  list.set("llama.feed_forward_length", number_of(48));
  list.set("llama.context_length", number_of(256));
  list.set("llama.attention.head_count", number_of(4));
  list.set("llama.attention.head_count_kv", number_of(2));
  list.set("llama.attention.layer_norm_rms_epsilon", 1e-5);
  list.set("llama.vocab_size", number_of(40));
  list.set("tokenizer.ggml.bos_token_id", number_of(1));
  list.set("tokenizer.ggml.eos_token_id", number_of(2));
  return list;
}

inline TensorList hub_tensors(const std::string& prefix = "model.") {
  TensorList list;
  list.set(prefix + "embed_tokens.weight", {40, 32}).set(prefix + "norm.weight", {32});
  for (const std::string& layer : {prefix + "layers.0.", prefix + "layers.1."}) {
    list.set(layer + "input_layernorm.weight", {32});
    list.set(layer + "post_attention_layernorm.weight", {32});
    list.set(layer + "self_attn.q_proj.weight", {32, 32});
    list.set(layer + "self_attn.k_proj.weight", {16, 32});
    list.set(layer + "self_attn.v_proj.weight", {16, 32});
    list.set(layer + "self_attn.o_proj.weight", {32, 32});
    list.set(layer + "mlp.gate_proj.weight", {48, 32});
    list.set(layer + "mlp.up_proj.weight", {48, 32});
    list.set(layer + "mlp.down_proj.weight", {32, 48});
  }
  return list;
}

constexpr const char *kHubConfig = R"({"model_type": "llama", "hidden_size": 32,
  "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
  "num_key_value_heads": 2, "vocab_size": 40, "tie_word_embeddings": true,
  "bos_token_id": 1, "eos_token_id": 2})";

// The bytes of floats that live as long as the array.
template <std::size_t count>
std::span<const std::byte> bytes_of(const std::array<float, count>& values) {
  return std::as_bytes(std::span(values));
}

}  // namespace zllm::weight::testing
