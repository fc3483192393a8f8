#pragma once

#include <zllm/backend/capability/mla.h>

namespace zllm::backend::cpu {

// The lifting matrices of a latent, used where they lie in the file and decoded in the kernel.
struct LatentUp {
  LatentUpViews views;
};

}  // namespace zllm::backend::cpu
