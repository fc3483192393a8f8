#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include <zllm/backend/capability/paged.h>
#include <zllm/base/check.h>
#include <zllm/base/text.h>
#include <zllm/kv_cache/sequence_table.h>
#include <zllm/runtime/round.h>
#include <zllm/runtime/sequence_states.h>

namespace zllm::runtime {

// The paged part of a model's states: one block table per sequence; one page holds the rows of
// every layer. Gives the sequences their names.
template <backend::PagedBackend B>
class PagePart {
 public:
  using Cache = typename B::PagedCache;

  // context: what a sequence is expected to come to hold unless it says otherwise.
  PagePart(B& backend, Cache cache, const backend::PagedCacheSpec& spec, std::uint64_t context)
      : backend_(backend),
        cache_(std::move(cache)),
        page_bytes_(backend.page_bytes(spec)),
        table_(B::kPageTokens, spec.pages),
        context_(context) {}

  Cache& cache() { return cache_; }
  kv_cache::SequenceTable& table() { return table_; }
  const kv_cache::SequenceTable& table() const { return table_; }

  SequenceId create(std::uint64_t expected_rows) {
    const SequenceId id = table_.create();
    expected_rows_[id] = expected_rows == 0 ? context_ : expected_rows;
    return id;
  }

  Status release(SequenceId id) {
    ZLLM_TRY(table_.release(id));
    expected_rows_.erase(id);
    return {};
  }

  Result<SequenceId> fork(SequenceId id) {
    ZLLM_TRY(const SequenceId copy, table_.fork(id));
    const std::uint64_t expected = expected_rows_.at(id);
    expected_rows_[copy] = expected;
    return copy;
  }

  // Makes the page copies that forks owe.
  Status reserve(const Segment& segment) {
    ZLLM_TRY(const std::uint64_t length, table_.length(segment.sequence));
    if (segment.start != length) {
      return Error{Code::invalid_argument,
                   concat("segment of sequence ", segment.sequence.value(), " starts at ",
                          segment.start, " where ", length, " rows are committed")};
    }
    ZLLM_TRY(const auto copies, table_.reserve(segment.sequence, segment.tokens.size()));
    Status copied = backend_.copy_pages(cache_, copies);
    if (!copied.ok()) {
      ZLLM_CHECK(table_.rollback(segment.sequence).ok(), "rollback of a reserved segment");
    }
    return copied;
  }

  // The pages of every segment, row numbers counted over the round. Valid until a sequence changes.
  Result<std::vector<backend::PagedSegment>> segments(const Round& round) const {
    std::vector<backend::PagedSegment> segments;
    std::uint32_t row = 0;
    for (const Segment& segment : round.segments) {
      ZLLM_TRY(const std::span<const PageId> pages, table_.pages(segment.sequence));
      const auto rows = static_cast<std::uint32_t>(segment.tokens.size());
      segments.push_back(
          {.first_row = row, .rows = rows, .position = segment.start, .pages = pages});
      row += rows;
    }
    return segments;
  }

  std::uint64_t expected_rows(SequenceId id) const { return expected_rows_.at(id); }

  // Of each segment's sequence; the round's sequences exist.
  std::vector<std::uint64_t> expected_rows(const Round& round) const {
    std::vector<std::uint64_t> rows;
    rows.reserve(round.segments.size());
    for (const Segment& segment : round.segments) {
      rows.push_back(expected_rows(segment.sequence));
    }
    return rows;
  }

  Result<std::uint64_t> size_bytes(SequenceId id) const {
    ZLLM_TRY(const std::span<const PageId> pages, table_.pages(id));
    return pages.size() * page_bytes_;
  }

  HeldBytes held_bytes(std::span<const SequenceId> ids) const {
    const kv_cache::HeldPlaces<PageId> pages = table_.held(ids);
    return {.all = pages.all() * page_bytes_, .alone = pages.alone() * page_bytes_};
  }

  std::uint64_t free_rows() const {
    return std::uint64_t{table_.pool().free_count()} * B::kPageTokens;
  }

  // Bytes of the exported pages of so many rows.
  Result<std::size_t> export_bytes(std::uint64_t rows) const {
    const std::uint64_t pages = rows / B::kPageTokens + (rows % B::kPageTokens != 0 ? 1 : 0);
    if (page_bytes_ != 0 && pages > std::numeric_limits<std::size_t>::max() / page_bytes_) {
      return Error{Code::invalid_argument, concat("pages of ", rows, " rows are too many")};
    }
    return pages * page_bytes_;
  }

  // All pages of a sequence without an open round into export_bytes(its rows) bytes.
  Status export_pages(SequenceId id, std::span<std::byte> out) const {
    ZLLM_TRY(const std::span<const PageId> pages, table_.pages(id));
    for (std::size_t i = 0; i < pages.size(); ++i) {
      ZLLM_TRY(backend_.export_page(cache_, pages[i], out.subspan(i * page_bytes_, page_bytes_)));
    }
    return {};
  }

  // Fills a new sequence with `rows` committed rows.
  Status import_pages(SequenceId id, std::uint64_t rows, std::span<const std::byte> in) {
    if (rows == 0) {
      return {};
    }
    ZLLM_TRY(table_.reserve(id, rows));
    ZLLM_TRY(const std::span<const PageId> pages, table_.pages(id));
    for (std::size_t i = 0; i < pages.size(); ++i) {
      ZLLM_TRY(backend_.import_page(cache_, pages[i], in.subspan(i * page_bytes_, page_bytes_)));
    }
    return table_.commit(id, rows);
  }

 private:
  B& backend_;
  Cache cache_;
  std::size_t page_bytes_;
  kv_cache::SequenceTable table_;
  std::uint64_t context_;
  std::unordered_map<SequenceId, std::uint64_t> expected_rows_;
};

}  // namespace zllm::runtime
