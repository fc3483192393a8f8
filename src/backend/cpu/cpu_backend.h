#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include <zllm/backend/capability/gqa.h>
#include <zllm/backend/cpu/paged_cache.h>
#include <zllm/backend/cpu/tensor.h>
#include <zllm/backend/cpu/weight.h>
#include <zllm/kernel/cpu/isa.h>

namespace zllm::backend::cpu {

struct CpuOptions {
  unsigned threads = 0;  // 0 = as many as the process may use
  kernel::cpu::Isa isa_cap = kernel::cpu::Isa::avx512;
};

// Everything is done when a call returns.
class Completion {
 public:
  Status wait() { return {}; }
};

// Models on the processor. Batch-invariant: the bits of a row depend neither on other rows of a
// round, nor on how a prompt was cut into rounds, nor on the number of threads. One caller at a
// time; it is one of the threads.
class CpuBackend {
 public:
  using Tensor = cpu::Tensor;
  using Weight = cpu::Weight;
  using Completion = cpu::Completion;
  using PagedCache = cpu::PagedCache;
  using Job = LinearJob<Tensor, Weight>;
  static constexpr std::uint32_t kPageTokens = kernel::cpu::kPageTokens;

  static Result<std::unique_ptr<CpuBackend>> create(const CpuOptions& options);
  ~CpuBackend();
  CpuBackend(const CpuBackend&) = delete;
  CpuBackend& operator=(const CpuBackend&) = delete;

  std::string_view name() const { return "cpu"; }
  kernel::cpu::Isa isa() const;
  unsigned threads() const;
  Support supports(const OpKey& key) const;
  std::optional<std::uint64_t> available_bytes() const;

  Result<Tensor> tensor(std::uint32_t rows, std::uint32_t columns);
  Status write(std::span<const float> values, Tensor& tensor);
  Status read(const Tensor& tensor, std::span<float> values);
  Completion submit() { return {}; }

  Result<Weight> load_matrix(const encoding::WeightView& view, MatrixUse use);
  Result<Weight> load_vector(const encoding::WeightView& view);
  Status embed(const Weight& table, std::span<const TokenId> tokens, Tensor& out);
  Status norm(const Tensor& in, const Weight& weight, double epsilon, Tensor& out);
  Status linear(const Tensor& in, std::span<const Job> jobs, LinearOutput output);
  Status swiglu(const Tensor& gate, const Tensor& up, Tensor& out);
  Status select_rows(const Tensor& in, std::span<const std::uint32_t> rows, Tensor& out);

  std::size_t page_bytes(const PagedCacheSpec& spec) const { return PagedCache::page_bytes(spec); }
  Result<PagedCache> paged_cache(const PagedCacheSpec& spec);
  Status copy_pages(PagedCache& cache, std::span<const kv_cache::PageCopy> copies);
  Status rotate(Tensor& heads, const RotarySpec& spec, const Tensor& cosine, const Tensor& sine);
  Status attend(PagedCache& cache, LayerId layer, const attention::GqaSpec& spec,
                std::span<const PagedSegment> segments, const Tensor& queries, const Tensor& keys,
                const Tensor& values, Tensor& out);
  Status export_page(const PagedCache& cache, PageId page, std::span<std::byte> out);
  Status import_page(PagedCache& cache, PageId page, std::span<const std::byte> in);

 private:
  struct State;  // threads, kernels of the instruction set, scratch memory
  explicit CpuBackend(std::unique_ptr<State> state);

  // Calls rows(begin, end) for ranges that make up the tensor's rows, on several threads when that
  // pays.
  template <class Rows>
  void for_rows(const Tensor& tensor, Rows rows);
  void multiply(const Tensor& in, const Job& job, LinearOutput output, std::uint64_t begin,
                std::uint64_t end, std::size_t worker);

  std::unique_ptr<State> state_;
};
static_assert(GqaBackend<CpuBackend>);

}  // namespace zllm::backend::cpu
