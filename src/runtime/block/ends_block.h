#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <zllm/backend/capability/backend.h>
#include <zllm/runtime/block/read_boundary.h>
#include <zllm/runtime/block/shape.h>
#include <zllm/runtime/block/weight_loader.h>
#include <zllm/runtime/load.h>
#include <zllm/runtime/round.h>
#include <zllm/weight/assembly/assembled_model.h>

namespace zllm::runtime::block {

// The embedding in front of a decoder's layers, the final norm and head behind them; a stage in the
// middle has neither.
template <backend::Backend B>
class EndsBlock {
 public:
  using Tensor = typename B::Tensor;
  using Weight = typename B::Weight;

  static Result<EndsBlock> load(WeightLoader<B>& loader, const weight::EndWeights& views,
                                const EndsShape& shape, std::uint32_t rows) {
    EndsBlock ends(shape);
    const bool one_matrix = shape.tied && shape.embeds && shape.has_head;
    if (shape.embeds) {
      ZLLM_TRY(ends.embedding_,
               loader.matrix(views.embedding, {.as_table = true, .as_product = one_matrix}));
    }
    if (shape.has_head) {
      if (!one_matrix) {
        ZLLM_TRY(ends.head_, loader.matrix(views.head));
      }
      ZLLM_TRY(ends.final_norm_, loader.vector(views.final_norm));
      ZLLM_TRY(ends.normed_, loader.backend().tensor(std::min(rows, kLogitRows), shape.hidden));
      ZLLM_TRY(ends.scores_, loader.backend().tensor(std::min(rows, kLogitRows), shape.vocabulary));
    }
    return ends;
  }

  // The rows that enter the first layer: embedded tokens.
  Status embed(B& backend, const Round& round, Tensor& rows) {
    std::vector<TokenId> tokens;
    tokens.reserve(round.rows());
    for (const Segment& segment : round.segments) {
      tokens.insert(tokens.end(), segment.tokens.begin(), segment.tokens.end());
    }
    return backend.embed(*embedding_, tokens, rows);
  }

  // The rows that enter the stage on one residual stream: what the stage before gave, or embedded
  // tokens.
  Status enter(B& backend, const Round& round, Tensor& rows) {
    return round.input ? backend.write(round.input->values, rows) : embed(backend, round, rows);
  }

  // What leaves the stage on one residual stream: logits, or the rows for the next stage.
  Result<RoundOutput> leave(B& backend, const Round& round, const Tensor& rows) {
    if (shape_.has_head) {
      return logits(backend, round, rows);
    }
    ZLLM_TRY(Boundary boundary, read_boundary(backend, rows, round.rows(), 1, shape_.hidden));
    return RoundOutput{.vocabulary = 0, .logits = {}, .boundary = std::move(boundary)};
  }

  // Logits of the wanted rows out of all that left the last layer.
  Result<RoundOutput> logits(B& backend, const Round& round, const Tensor& rows) {
    RoundOutput output{.vocabulary = shape_.vocabulary, .logits = {}};
    const std::vector<std::uint32_t> wanted = wanted_rows(round);
    output.logits.resize(wanted.size() * shape_.vocabulary);
    // The head runs over a bounded number of rows at a time: its output is as wide as the
    // vocabulary.
    for (std::size_t first = 0; first < wanted.size(); first += kLogitRows) {
      const std::size_t count = std::min<std::size_t>(kLogitRows, wanted.size() - first);
      ZLLM_TRY(some_logits(
          backend, rows, std::span(wanted).subspan(first, count),
          std::span(output.logits).subspan(first * shape_.vocabulary, count * shape_.vocabulary)));
    }
    ZLLM_TRY(backend.submit().wait());
    ZLLM_TRY(check_finite(output));
    return output;
  }

  const EndsShape& shape() const { return shape_; }

 private:
  explicit EndsBlock(const EndsShape& shape) : shape_(shape) {}

  Status some_logits(B& backend, const Tensor& rows, std::span<const std::uint32_t> wanted,
                     std::span<float> out) {
    normed_->set_rows(static_cast<std::uint32_t>(wanted.size()));
    scores_->set_rows(static_cast<std::uint32_t>(wanted.size()));
    ZLLM_TRY(backend.select_rows(rows, wanted, *normed_));
    ZLLM_TRY(backend.norm(*normed_, *final_norm_, shape_.norm_epsilon, *normed_));
    const backend::LinearJob<Tensor, Weight> job[] = {
        {.weight = head_ ? &*head_ : &*embedding_, .bias = nullptr, .out = &*scores_}};
    ZLLM_TRY(backend.linear(*normed_, job, backend::LinearOutput::replace));
    return backend.read(*scores_, out);
  }

  EndsShape shape_;
  std::optional<Weight> embedding_;
  std::optional<Weight> head_;  // absent where the embedding serves
  std::optional<Weight> final_norm_;
  std::optional<Tensor> normed_;
  std::optional<Tensor> scores_;
};

}  // namespace zllm::runtime::block
