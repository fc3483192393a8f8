#include <zllm/runtime/gqa_moe/cpu/compose.h>

#include <zllm/runtime/gqa_moe/gqa_moe-inl.h>

namespace zllm::runtime::gqa_moe {

template class GqaMoeModel<backend::cpu::CpuBackend>;

Result<LoadedModel> load_on_cpu(const weight::ModelFiles& files, backend::cpu::CpuBackend& backend,
                                const LoadOptions& options) {
  return load<backend::cpu::CpuBackend>(files, backend, options);
}

}  // namespace zllm::runtime::gqa_moe
