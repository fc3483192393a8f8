#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/base/text.h>
#include <zllm/encoding/encoding.h>

namespace zllm::backend {

// Operations that a model may need of a backend, as far as support for them can differ.
enum class Op : std::uint8_t {
  embed,             // rows of a table by token; encoding of the table, columns
  linear,            // rows x columns matrix in an encoding
  norm,              // RMS norm of groups of `columns` elements
  rotate,            // rotary embedding of heads of `columns` lanes
  paged_gqa,         // grouped-query attention over pages, heads of `columns` lanes
  gated_activation,  // SwiGLU and its like over rows of `columns` elements
  layer_norm,        // of rows of `columns` elements
  latent_attention,  // MLA, latents and shared keys of `columns` together; encoding of the cache
  latent_up,         // its matrices: rows x columns in an encoding
  select_keys,       // sparse selection over index keys of `columns`; encoding of the cache
  select_pools,      // the same over pooled keys
  delta_rule,        // gated delta rule, `rows` value heads of `columns` lanes
  gated_norm,        // RMS norm of groups of `columns` elements, times a gate
  hyper_connection,  // `rows` residual streams of `columns` elements
  route,             // choice among `rows` experts
  experts,           // an expert's matrix, rows x columns in an encoding
};
constexpr std::size_t kOpCount = static_cast<std::size_t>(Op::experts) + 1;

std::string_view name(Op op);
// Whether a key of the operation has an encoding: of the weights, or of the cache.
bool has_encoding(Op op);

// What is asked of a backend before any weight loads.
struct OpKey {
  Op op = Op::linear;
  encoding::Encoding encoding = encoding::Encoding::f32;  // of the weight, or of the cache
  std::uint64_t rows = 0;                                 // of the weight; 0 = any
  std::uint64_t columns = 0;

  bool operator==(const OpKey&) const = default;
};

struct Support {
  bool is_supported = true;
  std::string reason;  // when not: what exactly is refused

  static Support yes() { return {}; }
  static Support no(std::string reason) { return {false, std::move(reason)}; }
};

// An error that lists every key which `backend` refuses (each reason once), or success.
template <class B>
Status check_support(const B& backend, const std::vector<OpKey>& keys) {
  std::vector<std::string> reasons;
  for (const OpKey& key : keys) {
    Support support = backend.supports(key);
    if (!support.is_supported &&
        std::find(reasons.begin(), reasons.end(), support.reason) == reasons.end()) {
      reasons.push_back(std::move(support.reason));
    }
  }
  if (reasons.empty()) {
    return {};
  }
  std::string joined;
  for (const std::string& reason : reasons) {
    joined += joined.empty() ? reason : "; " + reason;
  }
  return Error{Code::unsupported, concat("backend ", backend.name(), ": ", joined)};
}

}  // namespace zllm::backend
