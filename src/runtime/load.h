#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <zllm/backend/capability/paged.h>
#include <zllm/base/result.h>
#include <zllm/base/strong.h>
#include <zllm/runtime/any_model.h>

namespace zllm::runtime {

// Rows of one round unless asked otherwise: enough for a matrix product to reuse what it unpacks,
// few enough that a chunk of prefill stalls running answers only briefly.
constexpr std::uint32_t kRowsPerRound = 512;

// Sequences that may live at once in a model with recurrent state unless asked otherwise.
constexpr std::uint32_t kSequences = 16;

// A contiguous range of layers. The stage with layer 0 embeds, the one with the last layer has the
// head.
struct StageRange {
  std::uint32_t first = 0;
  std::uint32_t end = 0;  // 0 = all layers from first on

  bool operator==(const StageRange&) const = default;
};

// The range with its end filled in, or an error where it holds no layer of the model.
Result<StageRange> resolve(StageRange range, std::uint32_t layers);

// What a caller may choose when a model is loaded, whatever its family.
struct LoadOptions {
  std::uint64_t context = 0;     // rows a sequence may hold; 0 = the model's own length
  std::uint64_t cache_rows = 0;  // rows that all sequences may hold together; 0 = context
  std::uint32_t rows_per_round = kRowsPerRound;
  backend::KvType kv_type = backend::KvType::f16;
  StageRange stage = {};
  std::uint32_t sequences = kSequences;  // that may live at once; models with recurrent state
};

struct LoadedModel {
  std::unique_ptr<AnyModel> model;
  std::vector<TokenId> end_tokens;
  std::optional<TokenId> begin_token;
  std::vector<std::string> warnings;
};

}  // namespace zllm::runtime
