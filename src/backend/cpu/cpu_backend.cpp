#include <zllm/backend/cpu/cpu_backend.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include <zllm/backend/cpu/state.h>
#include <zllm/base/process_limits.h>
#include <zllm/base/text.h>
#include <zllm/kernel/cpu/dispatch/attention_dispatch.h>
#include <zllm/kernel/cpu/dispatch/delta_rule_dispatch.h>
#include <zllm/kernel/cpu/dispatch/elementwise_dispatch.h>
#include <zllm/kernel/cpu/dispatch/index_dispatch.h>
#include <zllm/kernel/cpu/dispatch/latent_dispatch.h>
#include <zllm/kernel/cpu/dispatch/linear_dispatch.h>
#include <zllm/kernel/cpu/dispatch/stream_dispatch.h>

namespace zllm::backend::cpu {
namespace {

// A thread needs a core to itself; far more than any machine has is a mistake of the caller.
constexpr unsigned kThreadLimit = 1024;

}  // namespace

Result<std::unique_ptr<CpuBackend>> CpuBackend::create(const CpuOptions& options) {
  const unsigned threads = options.threads != 0 ? options.threads : usable_processors();
  if (threads > kThreadLimit) {
    return Error{Code::invalid_argument,
                 concat("threads ", threads, " is above the limit of ", kThreadLimit)};
  }
  auto state = std::make_unique<State>(threads);
  state->isa = kernel::cpu::best_isa(cpu_features(), options.isa_cap);
  state->linear = &kernel::cpu::linear_kernels(state->isa);
  state->attention = &kernel::cpu::attention_kernels(state->isa);
  state->elementwise = &kernel::cpu::elementwise_kernels(state->isa);
  state->delta_rule = &kernel::cpu::delta_rule_kernels(state->isa);
  state->streams = &kernel::cpu::stream_kernels(state->isa);
  state->latent = &kernel::cpu::latent_kernels(state->isa);
  state->index = &kernel::cpu::index_kernels(state->isa);
  return std::unique_ptr<CpuBackend>(new CpuBackend(std::move(state)));
}

CpuBackend::CpuBackend(std::unique_ptr<State> state) : state_(std::move(state)) {}
CpuBackend::~CpuBackend() = default;

kernel::cpu::Isa CpuBackend::isa() const { return state_->isa; }
unsigned CpuBackend::threads() const { return static_cast<unsigned>(state_->threads.threads()); }

std::optional<std::uint64_t> CpuBackend::available_bytes() const {
  const auto limits = memory_limits();
  return limits ? std::optional(limits->available) : std::nullopt;
}

Support CpuBackend::supports(const OpKey& key) const {
  const encoding::EncodingInfo& format = encoding::info(key.encoding);
  switch (key.op) {
    case Op::embed:
    case Op::linear:
    case Op::latent_up:
    case Op::experts:
      if (!format.is_weight) {
        return Support::no(concat(backend::name(key.op), " with weights in ", format.name));
      }
      if (key.columns % format.block_elements != 0) {
        return Support::no(concat(backend::name(key.op), " of ", key.columns, " columns in ",
                                  format.name, ", whose blocks have ", format.block_elements));
      }
      return Support::yes();
    case Op::paged_gqa:
    case Op::latent_attention:
    case Op::select_keys:
    case Op::select_pools:
      if (key.encoding != encoding::Encoding::f32 && key.encoding != encoding::Encoding::f16) {
        return Support::no(concat("a cache in ", format.name));
      }
      return Support::yes();
    case Op::norm:
    case Op::rotate:
    case Op::gated_activation:
    case Op::layer_norm:
    case Op::delta_rule:
    case Op::gated_norm:
    case Op::route:
      return Support::yes();
    case Op::hyper_connection:
      if (key.rows > kernel::cpu::kStreams) {
        return Support::no(concat(key.rows, " residual streams, of which this backend has at most ",
                                  kernel::cpu::kStreams));
      }
      return Support::yes();
  }
  ZLLM_CHECK(false, "an Op outside its enumeration");
}

Result<Tensor> CpuBackend::tensor(std::uint32_t rows, std::uint32_t columns) {
  return Tensor::make(rows, columns);
}

Status CpuBackend::write(std::span<const float> values, Tensor& tensor) {
  ZLLM_CHECK(values.size() == tensor.size(), "write of another size");
  std::ranges::copy(values, tensor.data());
  return {};
}

Status CpuBackend::read(const Tensor& tensor, std::span<float> values) {
  ZLLM_CHECK(values.size() == tensor.size(), "read of another size");
  std::copy_n(tensor.data(), tensor.size(), values.data());
  return {};
}

Status CpuBackend::select_rows(const Tensor& in, std::span<const std::uint32_t> rows, Tensor& out) {
  ZLLM_CHECK(rows.size() == out.rows() && in.columns() == out.columns(), "shape of select_rows");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ZLLM_CHECK(rows[i] < in.rows(), "a row outside the tensor");
    std::copy_n(in.row(rows[i]), in.columns(), out.row(static_cast<std::uint32_t>(i)));
  }
  return {};
}

Result<PagedCache> CpuBackend::paged_cache(const PagedCacheSpec& spec) {
  return PagedCache::make(spec);
}

Status CpuBackend::copy_pages(PagedCache& cache, std::span<const kv_cache::PageCopy> copies) {
  for (const kv_cache::PageCopy& copy : copies) {
    std::ranges::copy(cache.page(copy.from), cache.page(copy.to).begin());
  }
  return {};
}

Status CpuBackend::export_page(const PagedCache& cache, PageId page, std::span<std::byte> out) {
  const std::span<const std::byte> bytes = cache.page(page);
  ZLLM_CHECK(out.size() == bytes.size(), "export of another size");
  std::ranges::copy(bytes, out.begin());
  return {};
}

Status CpuBackend::import_page(PagedCache& cache, PageId page, std::span<const std::byte> in) {
  const std::span<std::byte> bytes = cache.page(page);
  ZLLM_CHECK(in.size() == bytes.size(), "import of another size");
  std::ranges::copy(in, bytes.begin());
  return {};
}

}  // namespace zllm::backend::cpu
