#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <zllm/activation/spec.h>
#include <zllm/attention/delta_rule/spec.h>
#include <zllm/attention/gqa/spec.h>
#include <zllm/attention/mla/spec.h>
#include <zllm/attention/sparse/spec.h>
#include <zllm/backend/capability/op_key.h>
#include <zllm/backend/capability/rotary.h>
#include <zllm/moe/spec.h>
#include <zllm/norm/spec.h>
#include <zllm/residual/spec.h>
#include <zllm/rope/spec.h>

// One run of one operation: its dimensions, rows, positions and data. docs/conformance.md says how
// a file spells them.
namespace zllm::conformance {

// A sequence's rows: those already in the cache or state, then those whose results count.
struct Segment {
  std::uint32_t history = 0;
  std::uint32_t rows = 0;
};

struct EmbedCase {
  std::uint32_t vocabulary = 0;
  std::uint32_t columns = 0;
  std::uint32_t rows = 0;
};

struct LinearCase {
  std::uint32_t outputs = 0;
  std::uint32_t columns = 0;
  std::uint32_t rows = 0;
  std::uint32_t first_column = 0;  // of the result in a wider tensor, whose other columns stay
  bool has_bias = false;
  bool accumulates = false;
};

// RMS norm, LayerNorm and gated norms of `groups` groups of `columns` elements a row.
struct NormCase {
  norm::Spec spec;
  std::uint32_t columns = 0;
  std::uint32_t groups = 1;
  std::uint32_t rows = 0;
  bool is_in_place = false;
};

struct RotateCase {
  backend::RotarySpec spec;
  rope::Spec rope;
  std::uint32_t heads = 0;
  std::vector<std::uint64_t> positions;  // of the rows
};

struct ActivationCase {
  activation::Spec spec;
  std::uint32_t columns = 0;
  std::uint32_t rows = 0;
  float size = 1.0F;  // of the inputs
};

struct GqaCase {
  attention::gqa::Spec spec;
  std::vector<Segment> segments;
};

struct LatentCase {
  attention::mla::Spec spec;
  std::vector<Segment> segments;
  std::uint32_t selected = 0;  // positions of each row's selection; 0 = attends to every key
  bool is_fused = true;        // the lifting matrices in one, or in two
};

struct SelectKeysCase {
  attention::sparse::IndexerSpec spec;
  std::vector<Segment> segments;
  bool is_whole = false;  // data of whole numbers: scores are exact, and many are equal
};

struct SelectPoolsCase {
  attention::sparse::KpoolSpec spec;
  std::vector<Segment> segments;
};

struct DeltaRuleCase {
  attention::delta_rule::Spec spec;
  std::vector<Segment> segments;
};

struct HyperConnectionCase {
  residual::HyperConnectionSpec spec;
  std::uint32_t columns = 0;
  std::uint32_t rows = 0;
};

struct RouteCase {
  moe::RouterSpec spec;
  std::uint32_t rows = 0;
  bool is_whole = false;  // logits of whole numbers, many of which are equal
};

struct ExpertsCase {
  moe::RouterSpec router;
  activation::Spec activation;
  std::uint32_t columns = 0;
  std::uint32_t intermediate = 0;
  std::uint32_t rows = 0;
  bool accumulates = false;
  bool adds_gated = false;  // rows of a shared expert follow, weighted by a gate
};

using Dimensions = std::variant<EmbedCase, LinearCase, NormCase, RotateCase, ActivationCase,
                                GqaCase, LatentCase, SelectKeysCase, SelectPoolsCase, DeltaRuleCase,
                                HyperConnectionCase, RouteCase, ExpertsCase>;

struct Case {
  std::string name;  // its file's operator, number and encoding
  backend::Op op = backend::Op::linear;
  encoding::Encoding encoding = encoding::Encoding::f32;  // of the weights, or of the cache
  std::uint64_t seed = 0;
  Dimensions dimensions;
};

// What the backend is asked before the case runs.
backend::OpKey key(const Case& one);

}  // namespace zllm::conformance
