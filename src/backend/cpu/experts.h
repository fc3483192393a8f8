#pragma once

#include <cstddef>
#include <vector>

#include <zllm/backend/cpu/buffer.h>
#include <zllm/backend/cpu/matrix_view.h>

namespace zllm::backend::cpu {

// Matrices of one shape. Those that are packed lie in one memory, the others in their file.
struct MatrixStack {
  Buffer<std::byte> panels;
  std::vector<MatrixView> matrices;
};

// The resident matrices of a layer's experts, by their numbers.
struct Experts {
  MatrixStack gate;
  MatrixStack up;
  MatrixStack down;
};

}  // namespace zllm::backend::cpu
