#pragma once

#include <cstddef>

#include <zllm/backend/cpu/buffer.h>
#include <zllm/backend/cpu/cpu_backend.h>
#include <zllm/backend/cpu/expert_scratch.h>
#include <zllm/backend/cpu/thread_pool.h>
#include <zllm/kernel/cpu/activation_block.h>
#include <zllm/kernel/cpu/attention.h>
#include <zllm/kernel/cpu/decoded_product.h>
#include <zllm/kernel/cpu/delta_rule.h>
#include <zllm/kernel/cpu/elementwise.h>
#include <zllm/kernel/cpu/index.h>
#include <zllm/kernel/cpu/isa.h>
#include <zllm/kernel/cpu/latent.h>
#include <zllm/kernel/cpu/linear.h>
#include <zllm/kernel/cpu/stream.h>

namespace zllm::backend::cpu {

// What all operations of one backend share. Scratch memory grows to the largest round and stays.
struct CpuBackend::State {
  explicit State(std::size_t thread_count) : threads(thread_count) {}

  kernel::cpu::Isa isa = kernel::cpu::Isa::scalar;
  const kernel::cpu::LinearKernels *linear = nullptr;
  const kernel::cpu::AttentionKernels *attention = nullptr;
  const kernel::cpu::ElementwiseKernels *elementwise = nullptr;
  const kernel::cpu::DeltaRuleKernels *delta_rule = nullptr;
  const kernel::cpu::StreamKernels *streams = nullptr;
  const kernel::cpu::LatentKernels *latent = nullptr;
  const kernel::cpu::IndexKernels *index = nullptr;
  ThreadPool threads;
  Buffer<kernel::cpu::ActivationBlock> activations;
  Buffer<float> decoded_rows;  // a part for each thread
  ExpertScratch experts;
  Buffer<float> attention_scratch;   // a part for each thread
  Buffer<float> attention_partials;  // a part for each segment
  Buffer<float> recurrent_scratch;   // a part for each thread
  Buffer<float> mixing_logits;       // of all streams, [rows, mix_width]
  Buffer<float> latent_rows;         // absorbed queries of a chunk of rows, then their contexts
  Buffer<float> index_scores;        // of a chunk of rows
};

}  // namespace zllm::backend::cpu
