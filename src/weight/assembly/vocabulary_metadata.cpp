#include <zllm/weight/assembly/vocabulary_metadata.h>

#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <zllm/base/text.h>

namespace zllm::weight {
namespace {

constexpr std::string_view kTokensKey = "tokenizer.ggml.tokens";

// A token's number must follow from its text.
Status refuse_duplicates(const std::vector<std::string_view>& tokens) {
  std::unordered_map<std::string_view, std::size_t> first;
  first.reserve(tokens.size());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto [other, is_new] = first.emplace(tokens[i], i);
    if (!is_new) {
      return Error{Code::invalid_file, concat("metadata key ", kTokensKey, ": entry ", i, " ",
                                              quote(tokens[i]), " repeats entry ", other->second)};
    }
  }
  return {};
}

Result<std::optional<std::uint64_t>> tokenizer_size(const GgufMetadata& metadata) {
  const GgufValue *value = metadata.find(kTokensKey);
  if (value == nullptr) {
    return std::optional<std::uint64_t>();
  }
  const auto *array = std::get_if<GgufArray>(value);
  const auto *tokens =
      array == nullptr ? nullptr : std::get_if<std::vector<std::string_view>>(&array->items);
  if (tokens == nullptr) {
    return Error{Code::invalid_file,
                 concat("metadata key ", kTokensKey, " must be an array of strings")};
  }
  ZLLM_TRY(refuse_duplicates(*tokens));
  for (const std::string_view key : {"tokenizer.ggml.token_type", "tokenizer.ggml.scores"}) {
    const GgufValue *other = metadata.find(key);
    const auto *entries = other == nullptr ? nullptr : std::get_if<GgufArray>(other);
    if (other != nullptr && (entries == nullptr || entries->size() != tokens->size())) {
      return Error{Code::invalid_file,
                   concat("metadata key ", key, " must be an array with one entry for each of the ",
                          tokens->size(), " tokens, found ",
                          entries == nullptr ? gguf_type_text(*other) : to_text(entries->size()))};
    }
  }
  return std::optional<std::uint64_t>(tokens->size());
}

}  // namespace

Result<std::uint32_t> vocabulary_from_metadata(const MetadataReader& reader,
                                               const TensorTable& tensors) {
  ZLLM_TRY(const auto stated, reader.integer("vocab_size", kVocabularyRange));
  ZLLM_TRY(const auto tokens, tokenizer_size(reader.metadata()));
  if (stated && tokens && *stated != *tokens) {
    return reader.error(
        Code::invalid_file, "vocab_size",
        concat(*stated, " contradicts tokenizer.ggml.tokens with ", *tokens, " entries"));
  }
  const TensorEntry *embedding = tensors.find("token_embd.weight");
  std::optional<std::uint64_t> rows;
  if (embedding != nullptr && embedding->shape.size() == 2) {
    rows = embedding->shape[0];
  }
  const auto claimed = tokens ? tokens : stated;
  if (claimed && rows && *claimed != *rows) {
    return Error{Code::invalid_file,
                 concat("tensor 'token_embd.weight' has ", *rows, " rows, but ",
                        tokens ? "tokenizer.ggml.tokens" : reader.key("vocab_size"), " tells of ",
                        *claimed, " tokens")};
  }
  const std::uint64_t size = claimed ? *claimed : rows.value_or(0);
  if (size < kVocabularyRange.minimum || size > kVocabularyRange.maximum) {
    return reader.error(Code::invalid_file, "vocab_size",
                        concat("or tokenizer.ggml.tokens must tell of 1 to ",
                               kVocabularyRange.maximum, " tokens, found ", size));
  }
  return static_cast<std::uint32_t>(size);
}

}  // namespace zllm::weight
