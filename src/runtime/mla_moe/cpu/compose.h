#pragma once

#include <zllm/backend/cpu/cpu_backend.h>
#include <zllm/base/result.h>
#include <zllm/runtime/load.h>
#include <zllm/weight/container/model_files.h>

namespace zllm::runtime::mla_moe {

// Latent-attention decoders with routed experts on the CPU. Files and backend must outlive the
// model.
Result<LoadedModel> load_on_cpu(const weight::ModelFiles& files, backend::cpu::CpuBackend& backend,
                                const LoadOptions& options);

}  // namespace zllm::runtime::mla_moe
