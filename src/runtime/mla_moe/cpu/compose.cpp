#include <zllm/runtime/mla_moe/cpu/compose.h>

#include <zllm/runtime/mla_moe/mla_moe-inl.h>

namespace zllm::runtime::mla_moe {

template class MlaMoeModel<backend::cpu::CpuBackend>;

Result<LoadedModel> load_on_cpu(const weight::ModelFiles& files, backend::cpu::CpuBackend& backend,
                                const LoadOptions& options) {
  return load<backend::cpu::CpuBackend>(files, backend, options);
}

}  // namespace zllm::runtime::mla_moe
