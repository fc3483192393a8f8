#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace zllm::text {

// The tokenizer's entries of a GGUF file, as its metadata has them; the bytes belong to the caller.
// Absent arrays are empty, absent keys are nothing.
struct GgufVocabulary {
  std::string_view model{};                         // tokenizer.ggml.model
  std::optional<std::string_view> pre_tokenizer{};  // tokenizer.ggml.pre
  std::span<const std::string_view> tokens{};       // tokenizer.ggml.tokens
  std::span<const double> scores{};                 // tokenizer.ggml.scores
  std::span<const std::int64_t> types{};            // tokenizer.ggml.token_type
  std::span<const std::string_view> merges{};       // tokenizer.ggml.merges

  std::optional<std::uint64_t> begin_of_sequence{};  // tokenizer.ggml.bos_token_id
  std::optional<std::uint64_t> end_of_sequence{};    // tokenizer.ggml.eos_token_id
  std::optional<std::uint64_t> end_of_turn{};        // tokenizer.ggml.eot_token_id
  std::optional<std::uint64_t> unknown{};            // tokenizer.ggml.unknown_token_id
  std::optional<std::uint64_t> padding{};            // tokenizer.ggml.padding_token_id
  std::optional<bool> add_begin{};                   // tokenizer.ggml.add_bos_token
  std::optional<bool> add_space_prefix{};            // tokenizer.ggml.add_space_prefix

  // Taken in place of pre_tokenizer when the file has none or a wrong one.
  std::optional<std::string_view> pre_tokenizer_override{};
};

}  // namespace zllm::text
