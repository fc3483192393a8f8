#pragma once

#include <zllm/backend/cpu/buffer.h>
#include <zllm/kernel/cpu/activation_block.h>

namespace zllm::backend::cpu {

// Memory between the loops of experts(). Rows lie expert by expert: a place for every row's choice.
struct ExpertScratch {
  Buffer<kernel::cpu::ActivationBlock> gathered_blocks;  // [places][width / 32]
  Buffer<float> gathered_values;                         // [places][width]
  Buffer<float> joined;                                  // a part for each thread
  Buffer<kernel::cpu::ActivationBlock> hidden_blocks;    // [places][intermediate / 32]
  Buffer<float> hidden_values;                           // [places][intermediate]
  Buffer<float> results;                                 // [places][some columns of the width]
};

}  // namespace zllm::backend::cpu
