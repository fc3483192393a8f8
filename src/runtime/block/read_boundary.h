#pragma once

#include <cstdint>

#include <zllm/base/result.h>
#include <zllm/runtime/boundary.h>

namespace zllm::runtime::block {

// The residual rows that leave a stage before the last, for the next one.
template <class B>
Result<Boundary> read_boundary(B& backend, const typename B::Tensor& rows, std::uint64_t count,
                               std::uint32_t streams, std::uint32_t hidden) {
  Boundary boundary{.streams = streams, .hidden = hidden, .values = {}, .selection = {}};
  boundary.values.resize(count * streams * hidden);
  ZLLM_TRY(backend.read(rows, boundary.values));
  return boundary;
}

}  // namespace zllm::runtime::block
