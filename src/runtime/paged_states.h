#pragma once

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include <zllm/backend/capability/gqa.h>
#include <zllm/base/text.h>
#include <zllm/kv_cache/sequence_table.h>
#include <zllm/runtime/round.h>
#include <zllm/runtime/sequence_states.h>

namespace zllm::runtime {

// The states of a model whose layers all keep paged keys and values: one block table per sequence,
// one page holds the rows of every layer.
template <backend::GqaBackend B>
class PagedStates final : public SequenceStates {
 public:
  using Cache = typename B::PagedCache;

  // context: what a sequence is expected to come to hold unless it says otherwise.
  PagedStates(B& backend, Cache cache, const backend::PagedCacheSpec& spec, std::uint64_t context)
      : backend_(backend),
        cache_(std::move(cache)),
        page_bytes_(backend.page_bytes(spec)),
        table_(B::kPageTokens, spec.pages),
        context_(context) {}

  Cache& cache() { return cache_; }

  // Reserves the rows of every segment or none. Makes the page copies that forks owe.
  Status reserve(const Round& round) {
    for (std::size_t i = 0; i < round.segments.size(); ++i) {
      Status reserved = reserve(round.segments[i]);
      if (!reserved.ok()) {
        roll_back(round, i);
        return reserved;
      }
    }
    return {};
  }

  // Gives back the reserved rows of the first `count` segments.
  void roll_back(const Round& round, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      ZLLM_CHECK(table_.rollback(round.segments[i].sequence).ok(),
                 "rollback of a reserved segment");
    }
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

  // Of each segment's sequence; the round's sequences exist.
  std::vector<std::uint64_t> expected_rows(const Round& round) const {
    std::vector<std::uint64_t> rows;
    rows.reserve(round.segments.size());
    for (const Segment& segment : round.segments) {
      rows.push_back(expected_rows_.at(segment.sequence));
    }
    return rows;
  }

  Result<SequenceId> create(std::uint64_t expected_rows) override {
    const SequenceId id = table_.create();
    expected_rows_[id] = expected_rows == 0 ? context_ : expected_rows;
    return id;
  }

  Status release(SequenceId id) override {
    ZLLM_TRY(table_.release(id));
    expected_rows_.erase(id);
    return {};
  }

  Result<SequenceId> fork(SequenceId id) override {
    ZLLM_TRY(const SequenceId copy, table_.fork(id));
    expected_rows_[copy] = expected_rows_.at(id);
    return copy;
  }

  Status commit(SequenceId id, std::uint64_t rows) override { return table_.commit(id, rows); }
  Status rollback(SequenceId id) override { return table_.rollback(id); }

  Result<std::uint64_t> truncate(SequenceId id, std::uint64_t rows) override {
    ZLLM_TRY(table_.truncate(id, rows));
    return rows;
  }

  Result<SequenceSnapshot> export_state(SequenceId id) const override {
    ZLLM_TRY(const std::uint64_t reserved, table_.reserved(id));
    if (reserved != 0) {
      return Error{Code::invalid_argument, "export of a sequence with an open round"};
    }
    ZLLM_TRY(const std::span<const PageId> pages, table_.pages(id));
    SequenceSnapshot snapshot;
    snapshot.expected_rows = expected_rows_.at(id);
    ZLLM_TRY(snapshot.rows, table_.length(id));
    snapshot.bytes.resize(pages.size() * page_bytes_);
    for (std::size_t i = 0; i < pages.size(); ++i) {
      const std::span<std::byte> out =
          std::span(snapshot.bytes).subspan(i * page_bytes_, page_bytes_);
      ZLLM_TRY(backend_.export_page(cache_, pages[i], out));
    }
    return snapshot;
  }

  Result<SequenceId> import_state(const SequenceSnapshot& snapshot) override {
    const std::uint64_t pages = (snapshot.rows + B::kPageTokens - 1) / B::kPageTokens;
    if (snapshot.rows > UINT64_MAX - B::kPageTokens ||
        snapshot.bytes.size() / page_bytes_ != pages || snapshot.bytes.size() % page_bytes_ != 0) {
      return Error{Code::invalid_argument,
                   concat("snapshot of ", snapshot.rows, " rows has ", snapshot.bytes.size(),
                          " bytes where this model keeps ", page_bytes_, " bytes a page")};
    }
    ZLLM_TRY(const SequenceId id, create(snapshot.expected_rows));
    Status filled = snapshot.rows == 0 ? Status() : fill(id, snapshot);
    if (!filled.ok()) {
      ZLLM_CHECK(release(id).ok(), "release of a new sequence");
      return std::move(filled).error();
    }
    return id;
  }

  Result<std::uint64_t> rows(SequenceId id) const override { return table_.length(id); }

  Result<std::uint64_t> size_bytes(SequenceId id) const override {
    ZLLM_TRY(const std::span<const PageId> pages, table_.pages(id));
    return pages.size() * page_bytes_;
  }

  std::uint64_t free_rows() const override {
    return std::uint64_t{table_.pool().free_count()} * B::kPageTokens;
  }

 private:
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

  Status fill(SequenceId id, const SequenceSnapshot& snapshot) {
    ZLLM_TRY(table_.reserve(id, snapshot.rows));
    ZLLM_TRY(const std::span<const PageId> pages, table_.pages(id));
    for (std::size_t i = 0; i < pages.size(); ++i) {
      const std::span<const std::byte> in =
          std::span(snapshot.bytes).subspan(i * page_bytes_, page_bytes_);
      ZLLM_TRY(backend_.import_page(cache_, pages[i], in));
    }
    return table_.commit(id, snapshot.rows);
  }

  B& backend_;
  Cache cache_;
  std::size_t page_bytes_;
  kv_cache::SequenceTable table_;
  std::uint64_t context_;
  std::unordered_map<SequenceId, std::uint64_t> expected_rows_;
};

}  // namespace zllm::runtime
