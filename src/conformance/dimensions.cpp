#include <zllm/conformance/dimensions.h>

#include <array>
#include <cmath>
#include <utility>

#include <zllm/attention/delta_rule/reference.h>
#include <zllm/attention/gqa/reference.h>
#include <zllm/attention/mla/reference.h>
#include <zllm/attention/sparse/indexer.h>
#include <zllm/attention/sparse/kpool.h>
#include <zllm/base/text.h>
#include <zllm/moe/routing.h>
#include <zllm/residual/hyper_connection.h>
#include <zllm/rope/reference.h>

namespace zllm::conformance {
namespace {

using backend::Op;

template <class Value>
using Name = std::pair<std::string_view, Value>;

// Rows of the state's history and of the round together: references are quadratic in them.
constexpr std::uint32_t kRowsLimit = 4096;
// Choices that cost memory in cubes.
constexpr std::uint32_t kExpertsLimit = 512;
constexpr std::uint32_t kHeadsLimit = 128;

void check(Fields& fields, std::string_view key, const Status& status) {
  if (!status.ok()) {
    fields.refuse(key, concat("is refused: ", status.error().message));
  }
}

std::vector<Segment> read_segments(Fields& fields) {
  std::vector<Segment> segments;
  for (const Json& item : fields.list("segments")) {
    Fields segment(item, concat(fields.where(), ": segments"));
    segments.push_back({.history = segment.size_or("history", 0, kRowsLimit),
                        .rows = segment.size("rows", kRowsLimit)});
    if (const Status status = segment.finish(); !status.ok()) {
      fields.refuse("segments", status.error().message);
    }
  }
  return segments;
}

activation::Spec read_activation(Fields& fields) {
  using activation::Gate;
  static constexpr std::array<Name<Gate>, 5> kGates = {{{"swiglu", Gate::swiglu},
                                                        {"clamped_swiglu", Gate::clamped_swiglu},
                                                        {"swiglu_oai", Gate::swiglu_oai},
                                                        {"geglu_tanh", Gate::geglu_tanh},
                                                        {"situ", Gate::situ}}};
  activation::Spec spec;
  spec.gate = fields.choice<Gate>("gate", kGates);
  if (spec.gate == Gate::clamped_swiglu || spec.gate == Gate::swiglu_oai) {
    spec.limit = fields.real("limit", 1.0);
    spec.alpha = fields.real("alpha", spec.alpha);
  }
  if (spec.gate == Gate::situ) {
    spec.beta = fields.real("beta", spec.beta);
    spec.linear_beta = fields.real("linear_beta", spec.linear_beta);
  }
  return spec;
}

EmbedCase read_embed(Fields& fields) {
  return {.vocabulary = fields.size("vocabulary"),
          .columns = fields.size("columns"),
          .rows = fields.size("rows")};
}

LinearCase read_linear(Fields& fields) {
  return {.outputs = fields.size("outputs"),
          .columns = fields.size("columns"),
          .rows = fields.size("rows"),
          .first_column = fields.size_or("first_column", 0),
          .has_bias = fields.flag("bias"),
          .accumulates = fields.flag("accumulate")};
}

NormCase read_norm(Op op, Fields& fields) {
  using norm::Flavour;
  static constexpr std::array<Name<Flavour>, 2> kGates = {
      {{"silu", Flavour::gated_rms_silu}, {"sigmoid", Flavour::gated_rms_sigmoid}}};
  NormCase one;
  one.spec.flavour = op == Op::norm         ? Flavour::rms
                     : op == Op::layer_norm ? Flavour::layer
                                            : fields.choice<Flavour>("gate", kGates);
  one.spec.epsilon = fields.real("epsilon", one.spec.epsilon);
  one.columns = fields.size("columns");
  one.groups = fields.size_or("groups", 1);
  one.rows = fields.size("rows");
  one.is_in_place = fields.flag("in_place");
  return one;
}

RotateCase read_rotate(Fields& fields) {
  using rope::Pairing;
  static constexpr std::array<Name<Pairing>, 2> kPairings = {
      {{"half", Pairing::half}, {"adjacent", Pairing::adjacent}}};
  RotateCase one;
  one.heads = fields.size("heads", kHeadsLimit);
  one.spec.head = fields.size("head");
  one.spec.rotated = fields.size("rotated");
  one.spec.first = fields.size_or("first", 0);
  one.spec.pairing = fields.choice<Pairing>("pairing", kPairings);
  one.positions = fields.numbers("positions");
  one.rope.rotated = one.spec.rotated;
  one.rope.pairing = one.spec.pairing;
  one.rope.theta = fields.real("theta", one.rope.theta);
  check(fields, "rotated", rope::validate(one.rope));
  if (one.spec.first + one.spec.rotated > one.spec.head) {
    fields.refuse("rotated", "lanes end behind the head");
  }
  return one;
}

ActivationCase read_activation_case(Fields& fields) {
  return {.spec = read_activation(fields),
          .columns = fields.size("columns"),
          .rows = fields.size("rows"),
          .size = static_cast<float>(fields.real("size", 1.0))};
}

float inverse_root(std::uint32_t width) { return 1.0F / std::sqrt(static_cast<float>(width)); }

GqaCase read_gqa(Fields& fields) {
  GqaCase one;
  one.spec.query_heads = fields.size("query_heads", kHeadsLimit);
  one.spec.kv_heads = fields.size("kv_heads", kHeadsLimit);
  one.spec.head = fields.size("head");
  one.spec.scale = inverse_root(one.spec.head);
  one.spec.window = fields.size_or("window", 0);
  one.spec.softcap = static_cast<float>(fields.real("softcap", 0.0));
  one.segments = read_segments(fields);
  check(fields, "query_heads", attention::gqa::validate(one.spec));
  return one;
}

LatentCase read_latent(Fields& fields) {
  static constexpr std::array<Name<bool>, 2> kForms = {{{"fused", true}, {"split", false}}};
  LatentCase one;
  one.spec = {.heads = fields.size("heads", kHeadsLimit),
              .latent = fields.size("latent"),
              .nope = fields.size("nope"),
              .rope = fields.size_or("rope", 0),
              .value = fields.size("value"),
              .scale = 1.0F};
  one.spec.scale = inverse_root(one.spec.nope + one.spec.rope);
  one.selected = fields.size_or("selected", 0);
  one.is_fused = fields.choice<bool>("form", kForms);
  one.segments = read_segments(fields);
  check(fields, "heads", attention::mla::validate(one.spec));
  return one;
}

attention::sparse::IndexerSpec read_indexer(Fields& fields, bool is_whole) {
  attention::sparse::IndexerSpec spec = {.heads = fields.size("heads", kHeadsLimit),
                                         .width = fields.size("width"),
                                         .top_k = fields.size("top_k")};
  if (!is_whole) {
    spec.score_scale = inverse_root(spec.width);
    spec.weight_scale = inverse_root(spec.heads);
  }
  return spec;
}

SelectKeysCase read_select_keys(Fields& fields) {
  SelectKeysCase one;
  one.is_whole = fields.flag("whole");
  one.spec = read_indexer(fields, one.is_whole);
  one.segments = read_segments(fields);
  check(fields, "heads", attention::sparse::validate(one.spec));
  return one;
}

SelectPoolsCase read_select_pools(Fields& fields) {
  SelectPoolsCase one;
  one.spec.indexer = read_indexer(fields, false);
  one.spec.pool = fields.size("pool");
  one.spec.select_tail = !fields.flag("without_tail");
  one.segments = read_segments(fields);
  check(fields, "pool", attention::sparse::validate(one.spec));
  return one;
}

DeltaRuleCase read_delta_rule(Fields& fields) {
  using attention::delta_rule::DecayGate;
  using attention::delta_rule::DecayWidth;
  static constexpr std::array<Name<DecayWidth>, 2> kWidths = {
      {{"channel", DecayWidth::channel}, {"head", DecayWidth::head}}};
  static constexpr std::array<Name<DecayGate>, 2> kGates = {
      {{"softplus", DecayGate::softplus}, {"bounded", DecayGate::bounded}}};
  DeltaRuleCase one;
  one.spec = {.key_heads = fields.size("key_heads", kHeadsLimit),
              .value_heads = fields.size("value_heads", kHeadsLimit),
              .key_width = fields.size("key_width"),
              .value_width = fields.size("value_width"),
              .taps = fields.size("taps"),
              .decay_width = fields.choice<DecayWidth>("decay", kWidths),
              .decay_gate = fields.choice<DecayGate>("gate", kGates),
              .lower_bound = 0.0F,
              .rates_are_logarithms = !fields.flag("negated_rates")};
  if (one.spec.decay_gate == DecayGate::bounded) {
    one.spec.lower_bound = static_cast<float>(fields.real("lower_bound", -5.0));
  }
  one.segments = read_segments(fields);
  check(fields, "key_heads", attention::delta_rule::validate(one.spec));
  return one;
}

HyperConnectionCase read_hyper_connection(Fields& fields) {
  HyperConnectionCase one;
  one.spec.streams = fields.size("streams", kHeadsLimit);
  one.spec.iterations = fields.size("iterations", kHeadsLimit);
  one.columns = fields.size("columns");
  one.rows = fields.size("rows");
  check(fields, "streams", residual::validate(one.spec));
  return one;
}

moe::RouterSpec read_router(Fields& fields) {
  using moe::Scoring;
  static constexpr std::array<Name<Scoring>, 2> kScorings = {
      {{"softmax", Scoring::softmax}, {"sigmoid", Scoring::sigmoid}}};
  moe::RouterSpec spec;
  spec.experts = fields.size("experts", kExpertsLimit);
  spec.top_k = fields.size("top_k", kExpertsLimit);
  spec.groups = fields.size_or("groups", 1);
  spec.kept_groups = fields.size_or("kept_groups", spec.groups);
  spec.scoring = fields.choice<Scoring>("scoring", kScorings);
  spec.has_selection_bias = fields.flag("bias");
  spec.normalise = !fields.flag("not_normalised");
  spec.scaling = static_cast<float>(fields.real("scaling", 1.0));
  check(fields, "experts", moe::validate(spec));
  return spec;
}

ExpertsCase read_experts(Fields& fields) {
  return {.router = read_router(fields),
          .activation = read_activation(fields),
          .columns = fields.size("columns"),
          .intermediate = fields.size("intermediate"),
          .rows = fields.size("rows"),
          .accumulates = fields.flag("accumulate"),
          .adds_gated = fields.flag("add_gated")};
}

}  // namespace

Dimensions read_dimensions(Op op, Fields& fields) {
  switch (op) {
    case Op::embed:
      return read_embed(fields);
    case Op::linear:
      return read_linear(fields);
    case Op::norm:
    case Op::layer_norm:
    case Op::gated_norm:
      return read_norm(op, fields);
    case Op::rotate:
      return read_rotate(fields);
    case Op::gated_activation:
      return read_activation_case(fields);
    case Op::paged_gqa:
      return read_gqa(fields);
    case Op::latent_attention:
    case Op::latent_up:
      return read_latent(fields);
    case Op::select_keys:
      return read_select_keys(fields);
    case Op::select_pools:
      return read_select_pools(fields);
    case Op::delta_rule:
      return read_delta_rule(fields);
    case Op::hyper_connection:
      return read_hyper_connection(fields);
    case Op::route:
      return RouteCase{.spec = read_router(fields),
                       .rows = fields.size("rows"),
                       .is_whole = fields.flag("whole")};
    case Op::experts:
      return read_experts(fields);
  }
  ZLLM_CHECK(false, "an Op outside its enumeration");
}

std::vector<std::uint32_t> matrix_columns(const Case& one) {
  if (const auto *const embed = std::get_if<EmbedCase>(&one.dimensions)) {
    return {embed->columns};
  }
  if (const auto *const linear = std::get_if<LinearCase>(&one.dimensions)) {
    return {linear->columns};
  }
  if (const auto *const experts = std::get_if<ExpertsCase>(&one.dimensions)) {
    return {experts->columns, experts->intermediate};
  }
  const auto *const latent = std::get_if<LatentCase>(&one.dimensions);
  if (latent != nullptr && one.op == Op::latent_up) {
    return latent->is_fused ? std::vector{latent->spec.latent}
                            : std::vector{latent->spec.nope, latent->spec.latent};
  }
  return {};
}

}  // namespace zllm::conformance
