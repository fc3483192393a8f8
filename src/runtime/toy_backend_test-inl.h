#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <zllm/backend/capability/paged.h>
#include <zllm/backend/capability/slots.h>

// A backend of vectors for tests of states; included by them alone. A page keeps a number for each
// of its rows, a slot the hash of all rows up to its own and, as its journal, the round's rows.
namespace zllm::runtime::toy {

struct Slot {
  std::uint64_t hash = 0;
  std::vector<TokenId> journal;
};

constexpr std::uint64_t chain(std::uint64_t hash, TokenId row) {
  return (hash ^ static_cast<std::uint64_t>(row)) * 0x100000001B3U + 1;
}

class Backend {
 public:
  struct Tensor {
    void set_rows(std::uint32_t) {}
  };
  struct Weight {};
  struct Completion {
    Status wait() { return {}; }
  };
  struct PagedCache {
    std::vector<std::vector<TokenId>> pages;
  };
  struct SlotCache {
    std::vector<Slot> slots;
  };
  using Job = backend::LinearJob<Tensor, Weight>;
  static constexpr std::uint32_t kPageTokens = 4;
  static constexpr std::size_t kPageBytes = kPageTokens * sizeof(TokenId);

  // Fail the next call when set.
  bool fail_copies = false;
  bool fail_replay = false;
  bool fail_import_slot = false;

  std::size_t page_bytes(const backend::PagedCacheSpec&) const { return kPageBytes; }
  Result<PagedCache> paged_cache(const backend::PagedCacheSpec& spec) {
    return PagedCache{
        std::vector<std::vector<TokenId>>(spec.pages, std::vector<TokenId>(kPageTokens))};
  }
  Status copy_pages(PagedCache& cache, std::span<const kv_cache::PageCopy> copies) {
    if (!copies.empty() && std::exchange(fail_copies, false)) {
      return Error{Code::io, "copy_pages failed"};
    }
    for (const kv_cache::PageCopy& copy : copies) {
      cache.pages[copy.to.value()] = cache.pages[copy.from.value()];
    }
    return {};
  }
  Status export_page(const PagedCache& cache, PageId page, std::span<std::byte> out) {
    std::memcpy(out.data(), cache.pages[page.value()].data(), kPageBytes);
    return {};
  }
  Status import_page(PagedCache& cache, PageId page, std::span<const std::byte> in) {
    std::memcpy(cache.pages[page.value()].data(), in.data(), kPageBytes);
    return {};
  }

  std::size_t slot_bytes(const backend::SlotCacheSpec&) const { return sizeof(std::uint64_t); }
  Result<SlotCache> slot_cache(const backend::SlotCacheSpec& spec) {
    return SlotCache{std::vector<Slot>(spec.slots)};
  }
  Status replay(SlotCache& cache, std::optional<SlotId> from, SlotId to, std::uint32_t rows) {
    if (std::exchange(fail_replay, false)) {
      return Error{Code::io, "replay failed"};
    }
    Slot& slot = cache.slots[to.value()];
    slot.hash = from ? cache.slots[from->value()].hash : 0;
    for (std::uint32_t row = 0; row < rows; ++row) {
      slot.hash = chain(slot.hash, slot.journal.at(row));
    }
    return {};
  }
  Status export_slot(const SlotCache& cache, SlotId slot, std::span<std::byte> out) {
    std::memcpy(out.data(), &cache.slots[slot.value()].hash, sizeof(std::uint64_t));
    return {};
  }
  Status import_slot(SlotCache& cache, SlotId slot, std::span<const std::byte> in) {
    if (std::exchange(fail_import_slot, false)) {
      return Error{Code::io, "import_slot failed"};
    }
    std::memcpy(&cache.slots[slot.value()].hash, in.data(), sizeof(std::uint64_t));
    return {};
  }

  // What "models" do with a round's rows, in order.
  void store(PagedCache& cache, const backend::PagedSegment& segment,
             std::span<const TokenId> rows) {
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const std::uint64_t position = segment.position + row;
      const PageId page = segment.pages[position / kPageTokens];
      cache.pages[page.value()][position % kPageTokens] = rows[row];
    }
  }
  void recur(SlotCache& cache, const backend::SlotSegment& segment, std::span<const TokenId> rows) {
    Slot slot{.hash = segment.from ? cache.slots[segment.from->value()].hash : 0, .journal = {}};
    for (const TokenId row : rows) {
      slot.hash = chain(slot.hash, row);
    }
    if (segment.journal) {
      slot.journal.assign(rows.begin(), rows.end());
    }
    cache.slots[segment.to.value()] = slot;
  }

  std::string_view name() const { return "toy"; }
  backend::Support supports(const backend::OpKey&) const { return backend::Support::yes(); }
  std::optional<std::uint64_t> available_bytes() const { return {}; }
  Result<Tensor> tensor(std::uint32_t, std::uint32_t) { return Tensor{}; }
  Status write(std::span<const float>, Tensor&) { return {}; }
  Status read(const Tensor&, std::span<float>) { return {}; }
  Completion submit() { return {}; }
  Result<Weight> load_matrix(const encoding::WeightView&, backend::MatrixUse) { return Weight{}; }
  Result<Weight> load_vector(const encoding::WeightView&) { return Weight{}; }
  Status embed(const Weight&, std::span<const TokenId>, Tensor&) { return {}; }
  Status norm(const Tensor&, const Weight&, double, Tensor&) { return {}; }
  Status linear(const Tensor&, std::span<const Job>, backend::LinearOutput) { return {}; }
  Status activate(const activation::Spec&, const Tensor&, const Tensor&, Tensor&) { return {}; }
  Status select_rows(const Tensor&, std::span<const std::uint32_t>, Tensor&) { return {}; }
};

}  // namespace zllm::runtime::toy
