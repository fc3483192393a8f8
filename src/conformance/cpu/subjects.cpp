#include <zllm/conformance/cpu/subjects.h>

#include <zllm/backend/cpu/cpu_backend.h>
#include <zllm/conformance/subject-inl.h>

namespace zllm::conformance::cpu {

using kernel::cpu::Isa;

Result<Subjects> subjects(unsigned threads) {
  Subjects all;
  for (const Isa isa : {Isa::scalar, Isa::avx2, Isa::avx512}) {
    ZLLM_TRY(auto backend, backend::cpu::CpuBackend::create({.threads = threads, .isa_cap = isa}));
    if (backend->isa() == isa) {
      all.push_back(std::make_unique<SubjectOf<backend::cpu::CpuBackend>>(
          std::move(backend), std::string(kernel::cpu::name(isa))));
    }
  }
  return all;
}

}  // namespace zllm::conformance::cpu
