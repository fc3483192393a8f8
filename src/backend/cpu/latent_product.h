#pragma once

#include <cstddef>

#include <zllm/backend/cpu/buffer.h>
#include <zllm/backend/cpu/latent_up.h>
#include <zllm/backend/cpu/tensor.h>
#include <zllm/backend/cpu/thread_pool.h>
#include <zllm/base/result.h>
#include <zllm/kernel/cpu/latent.h>
#include <zllm/kernel/cpu/linear.h>

namespace zllm::backend::cpu {

// Products of rows with a LatentUp, a head a task.
struct LatentProduct {
  const kernel::cpu::LinearKernels& linear;
  const kernel::cpu::LatentKernels& latent;
  ThreadPool& threads;
  Buffer<float>& decoded;  // grows to a part for each thread
  const LatentUp& up;
  const attention::mla::Spec& spec;

  // Queries [nope | rope] of `rows` rows of the tensor from first_row on become absorbed ones
  // [A_h^T nope | rope], [rows][heads][latent + rope].
  Status absorb(const Tensor& queries, std::uint32_t first_row, std::uint32_t rows,
                float *absorbed) const;
  // out[first_row + r] = B_h context, of contexts that lie as absorbed queries do.
  Status lift(const float *contexts, std::uint32_t first_row, std::uint32_t rows,
              Tensor& out) const;
};

}  // namespace zllm::backend::cpu
