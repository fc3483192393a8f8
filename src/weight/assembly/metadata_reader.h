#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <zllm/base/result.h>
#include <zllm/weight/assembly/limits.h>
#include <zllm/weight/container/gguf_metadata.h>

namespace zllm::weight {

// Range-checked access to the keys of one architecture in GGUF metadata: "block_count" is read as
// "llama.block_count". Errors name the full key, say what is allowed and what was found. Refers to
// the metadata, which must outlive it.
class MetadataReader {
 public:
  MetadataReader(const GgufMetadata& metadata, std::string_view architecture)
      : metadata_(&metadata), prefix_(std::string(architecture) + ".") {}

  const GgufMetadata& metadata() const { return *metadata_; }
  std::string key(std::string_view suffix) const { return prefix_ + std::string(suffix); }
  bool has(std::string_view suffix) const { return metadata_->find(key(suffix)) != nullptr; }

  Result<std::optional<std::uint64_t>> integer(std::string_view suffix, IntegerRange range) const;
  Result<std::uint64_t> required_integer(std::string_view suffix, IntegerRange range) const;
  Result<std::uint64_t> integer_or(std::string_view suffix, IntegerRange range,
                                   std::uint64_t fallback) const;
  // One integer, or an array with one for each layer. Layers that differ are unsupported.
  Result<std::optional<std::uint64_t>> uniform_integer(std::string_view suffix, IntegerRange range,
                                                       std::uint64_t layers) const;
  Result<std::optional<double>> number(std::string_view suffix, NumberRange range) const;
  Result<double> required_number(std::string_view suffix, NumberRange range) const;
  Result<double> number_or(std::string_view suffix, NumberRange range, double fallback) const;
  Result<std::optional<std::string_view>> string(std::string_view suffix) const;

  Error error(Code code, std::string_view suffix, std::string_view text) const;

 private:
  Error missing(std::string_view suffix) const;

  const GgufMetadata *metadata_;
  std::string prefix_;
};

}  // namespace zllm::weight
