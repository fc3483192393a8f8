#include <zllm/runtime/glm5_next/cpu/compose.h>

#include <zllm/runtime/glm5_next/glm5_next-inl.h>

namespace zllm::runtime::glm5_next {

template class Glm5NextModel<backend::cpu::CpuBackend>;

Result<LoadedModel> load_on_cpu(const weight::ModelFiles& files, backend::cpu::CpuBackend& backend,
                                const LoadOptions& options) {
  return load<backend::cpu::CpuBackend>(files, backend, options);
}

}  // namespace zllm::runtime::glm5_next
