#pragma once

#include <zllm/kernel/cpu/latent.h>

namespace zllm::kernel::cpu {

template <class S, class Element>
void append_latent_row(const LatentAppendParams& params, std::size_t row) {
  const std::size_t width = params.latent + params.rope;
  const std::size_t stride = (width + kValuePadding - 1) / kValuePadding * kValuePadding;
  const std::size_t position = params.first_position + row;
  Element *const to = reinterpret_cast<Element *>(params.pages[position / kPageTokens]) +
                      position % kPageTokens * stride;
  const float *const latent = params.latents + row * params.latent_row_stride;
  const std::size_t whole = params.latent / S::kLanes * S::kLanes;
  for (std::size_t d = 0; d < whole; d += S::kLanes) {
    S::store(to + d, S::load(latent + d));
  }
  // What is left of the latent and the shared key, which need not begin at a vector's border.
  for (std::size_t d = whole; d < stride; d += S::kLanes) {
    float lanes[S::kLanes] = {};
    for (std::size_t lane = 0; lane < S::kLanes && d + lane < width; ++lane) {
      const std::size_t at = d + lane;
      lanes[lane] = at < params.latent
                        ? latent[at]
                        : params.shared_keys[row * params.key_row_stride + at - params.latent];
    }
    S::store(to + d, S::load(lanes));
  }
}

template <class S>
void latent_append(const LatentAppendParams& params, std::size_t first_row, std::size_t last_row) {
  for (std::size_t row = first_row; row < last_row; ++row) {
    if (params.type == KvType::f32) {
      append_latent_row<S, float>(params, row);
    } else {
      append_latent_row<S, std::uint16_t>(params, row);
    }
  }
}

}  // namespace zllm::kernel::cpu
