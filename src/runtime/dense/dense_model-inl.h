#pragma once

#include <cmath>
#include <utility>
#include <vector>

#include <zllm/runtime/dense/dense_model.h>
#include <zllm/runtime/dense/load-inl.h>
#include <zllm/runtime/rotary_tables.h>

// Bodies of DenseModel; included by its composition files and tests alone.
namespace zllm::runtime::dense {

template <backend::GqaBackend B>
DenseModel<B>::DenseModel(B& backend, Parts parts)
    : backend_(backend),
      spec_(std::move(parts.spec)),
      info_(std::move(parts.info)),
      embedding_(std::move(parts.embedding)),
      head_(std::move(parts.head)),
      final_norm_(std::move(parts.final_norm)),
      layers_(std::move(parts.layers)),
      work_(std::move(parts.workspace)),
      states_(backend, std::move(parts.cache), parts.cache_spec, info_.limits.context) {}

template <backend::GqaBackend B>
Result<RoundOutput> DenseModel<B>::submit(const Round& round) {
  ZLLM_TRY(validate(round, info_.limits));
  ZLLM_TRY(states_.reserve(round));
  Result<RoundOutput> output = run(round);
  if (!output.ok()) {
    states_.roll_back(round, round.segments.size());
  }
  return output;
}

template <backend::GqaBackend B>
Result<RoundOutput> DenseModel<B>::run(const Round& round) {
  ZLLM_TRY(const auto segments, states_.segments(round));
  ZLLM_TRY(prepare(round));
  for (std::uint32_t layer = 0; layer < spec_.layers; ++layer) {
    ZLLM_TRY(attention_block(LayerId(layer), segments));
    ZLLM_TRY(mlp_block(layers_[layer]));
  }
  return logits(round);
}

// Cuts the workspace to the round, looks the tokens up and lays out the rope angles.
template <backend::GqaBackend B>
Status DenseModel<B>::prepare(const Round& round) {
  const auto rows = static_cast<std::uint32_t>(round.rows());
  for (Tensor *tensor :
       {&work_.residual, &work_.normed, &work_.query, &work_.key, &work_.value, &work_.attended,
        &work_.gate, &work_.up, &work_.gated, &work_.cosine, &work_.sine}) {
    tensor->set_rows(rows);
  }
  std::vector<TokenId> tokens;
  tokens.reserve(rows);
  for (const Segment& segment : round.segments) {
    tokens.insert(tokens.end(), segment.tokens.begin(), segment.tokens.end());
  }
  ZLLM_TRY(backend_.embed(embedding_, tokens, work_.residual));
  ZLLM_TRY(const RotaryTables tables,
           rotary_tables(spec_.rope, round, states_.expected_rows(round)));
  ZLLM_TRY(backend_.write(tables.cosine, work_.cosine));
  return backend_.write(tables.sine, work_.sine);
}

template <backend::GqaBackend B>
Status DenseModel<B>::attention_block(LayerId id, std::span<const backend::PagedSegment> segments) {
  const Layer<B>& layer = layers_[id.value()];
  const auto bias = [](const std::optional<Weight>& weight) { return weight ? &*weight : nullptr; };
  ZLLM_TRY(backend_.norm(work_.residual, layer.attention_norm, spec_.norm_epsilon, work_.normed));
  const Job projections[] = {
      {.weight = &layer.query, .bias = bias(layer.query_bias), .out = &work_.query},
      {.weight = &layer.key, .bias = bias(layer.key_bias), .out = &work_.key},
      {.weight = &layer.value, .bias = bias(layer.value_bias), .out = &work_.value}};
  ZLLM_TRY(backend_.linear(work_.normed, projections, backend::LinearOutput::replace));
  if (spec_.query_key_norm) {
    ZLLM_TRY(backend_.norm(work_.query, *layer.query_norm, spec_.norm_epsilon, work_.query));
    ZLLM_TRY(backend_.norm(work_.key, *layer.key_norm, spec_.norm_epsilon, work_.key));
  }
  const backend::RotarySpec rotary{
      .head = spec_.head, .rotated = spec_.rope.rotated, .pairing = spec_.rope.pairing};
  ZLLM_TRY(backend_.rotate(work_.query, rotary, work_.cosine, work_.sine));
  ZLLM_TRY(backend_.rotate(work_.key, rotary, work_.cosine, work_.sine));
  const attention::gqa::Spec gqa{
      .query_heads = spec_.query_heads,
      .kv_heads = spec_.kv_heads,
      .head = spec_.head,
      .scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(spec_.head))),
      .window = spec_.windows[id.value()]};
  ZLLM_TRY(backend_.attend(states_.cache(), id, gqa, segments, work_.query, work_.key, work_.value,
                           work_.attended));
  const Job output[] = {
      {.weight = &layer.output, .bias = bias(layer.output_bias), .out = &work_.residual}};
  return backend_.linear(work_.attended, output, backend::LinearOutput::accumulate);
}

template <backend::GqaBackend B>
Status DenseModel<B>::mlp_block(const Layer<B>& layer) {
  const auto bias = [](const std::optional<Weight>& weight) { return weight ? &*weight : nullptr; };
  ZLLM_TRY(backend_.norm(work_.residual, layer.mlp_norm, spec_.norm_epsilon, work_.normed));
  const Job projections[] = {
      {.weight = &layer.gate, .bias = bias(layer.gate_bias), .out = &work_.gate},
      {.weight = &layer.up, .bias = bias(layer.up_bias), .out = &work_.up}};
  ZLLM_TRY(backend_.linear(work_.normed, projections, backend::LinearOutput::replace));
  ZLLM_TRY(backend_.swiglu(work_.gate, work_.up, work_.gated));
  const Job down[] = {
      {.weight = &layer.down, .bias = bias(layer.down_bias), .out = &work_.residual}};
  return backend_.linear(work_.gated, down, backend::LinearOutput::accumulate);
}

template <backend::GqaBackend B>
Result<RoundOutput> DenseModel<B>::logits(const Round& round) {
  RoundOutput output{.vocabulary = spec_.vocabulary, .logits = {}};
  const std::vector<std::uint32_t> wanted = wanted_rows(round);
  if (wanted.empty()) {
    ZLLM_TRY(backend_.submit().wait());
    return output;
  }
  output.logits.resize(wanted.size() * spec_.vocabulary);
  // The head runs over a bounded number of rows at a time: its output is as wide as the vocabulary.
  const auto step = static_cast<std::uint32_t>(std::min<std::size_t>(wanted.size(), kLogitRows));
  for (std::size_t first = 0; first < wanted.size(); first += step) {
    const std::size_t count = std::min<std::size_t>(step, wanted.size() - first);
    work_.normed.set_rows(static_cast<std::uint32_t>(count));
    work_.scores.set_rows(static_cast<std::uint32_t>(count));
    ZLLM_TRY(backend_.select_rows(work_.residual, std::span(wanted).subspan(first, count),
                                  work_.normed));
    ZLLM_TRY(backend_.norm(work_.normed, final_norm_, spec_.norm_epsilon, work_.normed));
    const Job job[] = {
        {.weight = head_ ? &*head_ : &embedding_, .bias = nullptr, .out = &work_.scores}};
    ZLLM_TRY(backend_.linear(work_.normed, job, backend::LinearOutput::replace));
    ZLLM_TRY(backend_.read(
        work_.scores,
        std::span(output.logits).subspan(first * spec_.vocabulary, count * spec_.vocabulary)));
  }
  ZLLM_TRY(backend_.submit().wait());
  if (Status finite = check_finite(output); !finite.ok()) {
    return std::move(finite).error().within(info_.path);
  }
  return output;
}

// From files to a loaded model; the whole of a composition file.
template <backend::GqaBackend B>
Result<LoadedModel> load(const weight::ModelFiles& files, B& backend, const LoadOptions& options) {
  ZLLM_TRY(auto model, weight::assemble_dense_decoder(files));
  auto loaded = DenseModel<B>::load(backend, model, options);
  if (!loaded.ok()) {
    return std::move(loaded).error().within(files.path);
  }
  return LoadedModel{.model = std::move(loaded).value(),
                     .end_tokens = std::move(model.end_tokens),
                     .begin_token = model.begin_token,
                     .warnings = std::move(model.warnings)};
}

}  // namespace zllm::runtime::dense
