#pragma once

#include <cstdint>
#include <utility>

#include <zllm/backend/capability/hyper_connection.h>
#include <zllm/runtime/block/weight_loader.h>
#include <zllm/weight/assembly/block_weights.h>

namespace zllm::runtime::block {

// Hyper-connected residual streams around a sublayer: split() gives what it reads, merge() takes
// what it gives.
template <backend::HyperConnectionBackend B>
class StreamBlock {
 public:
  using Tensor = typename B::Tensor;
  using Weight = typename B::Weight;

  struct Weights {
    Weight mixing, base, scale;
  };

  static Result<Weights> load(WeightLoader<B>& loader, const weight::StreamWeights& views) {
    ZLLM_TRY(Weight mixing, loader.matrix(views.mixing));
    ZLLM_TRY(Weight base, loader.vector(views.base));
    ZLLM_TRY(Weight scale, loader.vector(views.scale));
    return Weights{.mixing = std::move(mixing), .base = std::move(base), .scale = std::move(scale)};
  }

  static Result<StreamBlock> make(B& backend, const residual::HyperConnectionSpec& spec,
                                  std::uint32_t rows) {
    ZLLM_TRY(Tensor mixing, backend.tensor(rows, spec.streams + spec.streams * spec.streams));
    return StreamBlock(spec, std::move(mixing));
  }

  void set_rows(std::uint32_t rows) { mixing_.set_rows(rows); }

  Status split(B& backend, const Weights& weights, const Tensor& streams, Tensor& input) {
    const backend::HyperConnectionWeights<Weight> mixing{
        .mixing = &weights.mixing, .base = &weights.base, .scale = &weights.scale};
    return backend.split_streams(spec_, mixing, streams, input, mixing_);
  }

  Status merge(B& backend, const Tensor& sublayer, Tensor& streams) {
    return backend.merge_streams(spec_, sublayer, mixing_, streams);
  }

 private:
  StreamBlock(const residual::HyperConnectionSpec& spec, Tensor mixing)
      : spec_(spec), mixing_(std::move(mixing)) {}

  residual::HyperConnectionSpec spec_;
  Tensor mixing_;
};

}  // namespace zllm::runtime::block
