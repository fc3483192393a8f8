#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include <zllm/backend/capability/rotary.h>
#include <zllm/runtime/rotary_tables.h>

namespace zllm::runtime::block {

// The angles of a round's rows on the backend, shared by all layers that turn alike.
template <backend::RotaryBackend B>
class Rotation {
 public:
  using Tensor = typename B::Tensor;

  static Result<Rotation> make(B& backend, const rope::Spec& spec, std::uint32_t rows) {
    const std::uint32_t angles = std::max(1u, spec.rotated / 2);
    ZLLM_TRY(Tensor cosine, backend.tensor(rows, angles));
    ZLLM_TRY(Tensor sine, backend.tensor(rows, angles));
    return Rotation(spec, std::move(cosine), std::move(sine));
  }

  // lengths: the announced length of each segment's sequence (rope/reference.h).
  Status prepare(B& backend, const Round& round, std::span<const std::uint64_t> lengths) {
    ZLLM_TRY(const RotaryTables tables, rotary_tables(spec_, round, lengths));
    const auto rows = static_cast<std::uint32_t>(round.rows());
    cosine_.set_rows(rows);
    sine_.set_rows(rows);
    ZLLM_TRY(backend.write(tables.cosine, cosine_));
    return backend.write(tables.sine, sine_);
  }

  // Turns lanes [first, first + rotated) of every head of `head` lanes.
  Status turn(B& backend, std::uint32_t head, std::uint32_t first, rope::Pairing pairing,
              Tensor& heads) const {
    const backend::RotarySpec rotary{
        .head = head, .rotated = spec_.rotated, .pairing = pairing, .first = first};
    return backend.rotate(heads, rotary, cosine_, sine_);
  }

  const rope::Spec& spec() const { return spec_; }

 private:
  Rotation(const rope::Spec& spec, Tensor cosine, Tensor sine)
      : spec_(spec), cosine_(std::move(cosine)), sine_(std::move(sine)) {}

  rope::Spec spec_;
  Tensor cosine_;
  Tensor sine_;
};

}  // namespace zllm::runtime::block
