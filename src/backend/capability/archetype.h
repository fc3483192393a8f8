#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <zllm/backend/capability/gqa.h>

// The smallest types that satisfy each concept: move-only, nothing extra. A runtime that uses more
// than its concept grants does not compile with them (test/architecture). Never run.
namespace zllm::backend::archetype {

class MoveOnly {
 public:
  MoveOnly(MoveOnly&&) = default;
  MoveOnly& operator=(MoveOnly&&) = default;
  MoveOnly(const MoveOnly&) = delete;
  MoveOnly& operator=(const MoveOnly&) = delete;
  ~MoveOnly() = default;

 private:
  MoveOnly() = default;
};

class Tensor : public MoveOnly {
 public:
  void set_rows(std::uint32_t rows);
};

class Weight : public MoveOnly {};

class Completion : public MoveOnly {
 public:
  Status wait();
};

class PagedCache : public MoveOnly {};

class DenseBackend {
 public:
  using Tensor = archetype::Tensor;
  using Weight = archetype::Weight;
  using Completion = archetype::Completion;
  using Job = LinearJob<Tensor, Weight>;

  DenseBackend(const DenseBackend&) = delete;
  DenseBackend& operator=(const DenseBackend&) = delete;

  std::string_view name() const;
  Support supports(const OpKey& key) const;
  std::optional<std::uint64_t> available_bytes() const;
  Result<Tensor> tensor(std::uint32_t rows, std::uint32_t columns);
  Status write(std::span<const float> values, Tensor& tensor);
  Status read(const Tensor& tensor, std::span<float> values);
  Completion submit();

  Result<Weight> load_matrix(const encoding::WeightView& view, MatrixUse use);
  Result<Weight> load_vector(const encoding::WeightView& view);
  Status embed(const Weight& table, std::span<const TokenId> tokens, Tensor& out);
  Status norm(const Tensor& in, const Weight& weight, double epsilon, Tensor& out);
  Status linear(const Tensor& in, std::span<const Job> jobs, LinearOutput output);
  Status swiglu(const Tensor& gate, const Tensor& up, Tensor& out);
  Status select_rows(const Tensor& in, std::span<const std::uint32_t> rows, Tensor& out);
};
static_assert(Backend<DenseBackend>);

class PagedGqaBackend : public DenseBackend {
 public:
  using PagedCache = archetype::PagedCache;
  static constexpr std::uint32_t kPageTokens = 16;

  std::size_t page_bytes(const PagedCacheSpec& spec) const;
  Result<PagedCache> paged_cache(const PagedCacheSpec& spec);
  Status copy_pages(PagedCache& cache, std::span<const kv_cache::PageCopy> copies);
  Status rotate(Tensor& heads, const RotarySpec& spec, const Tensor& cosine, const Tensor& sine);
  Status attend(PagedCache& cache, LayerId layer, const attention::GqaSpec& spec,
                std::span<const PagedSegment> segments, const Tensor& queries, const Tensor& keys,
                const Tensor& values, Tensor& out);
  Status export_page(const PagedCache& cache, PageId page, std::span<std::byte> out);
  Status import_page(PagedCache& cache, PageId page, std::span<const std::byte> in);
};
static_assert(GqaBackend<PagedGqaBackend>);

}  // namespace zllm::backend::archetype
