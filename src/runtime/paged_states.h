#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <zllm/base/check.h>
#include <zllm/base/text.h>
#include <zllm/runtime/page_part.h>
#include <zllm/runtime/round_states.h>

namespace zllm::runtime {

// The states of a model that keeps pages alone: it can be cut at any row.
template <backend::PagedBackend B>
class PagedStates final : public RoundStates {
 public:
  using Cache = typename B::PagedCache;

  // context: what a sequence is expected to come to hold unless it says otherwise.
  PagedStates(B& backend, Cache cache, const backend::PagedCacheSpec& spec, std::uint64_t context)
      : pages_(backend, std::move(cache), spec, context) {}

  Cache& cache() { return pages_.cache(); }

  // The pages of every segment, row numbers counted over the round. Valid until a sequence changes.
  Result<std::vector<backend::PagedSegment>> segments(const Round& round) const {
    return pages_.segments(round);
  }

  // Of each segment's sequence; the round's sequences exist.
  std::vector<std::uint64_t> expected_rows(const Round& round) const {
    return pages_.expected_rows(round);
  }

  Result<SequenceId> create(std::uint64_t expected_rows) override {
    return pages_.create(expected_rows);
  }
  Status release(SequenceId id) override { return pages_.release(id); }
  Result<SequenceId> fork(SequenceId id) override { return pages_.fork(id); }
  Status commit(SequenceId id, std::uint64_t rows) override {
    return pages_.table().commit(id, rows);
  }

  Status checkpoint(SequenceId id) override {
    return check_closed(pages_.table(), id, "checkpoint");
  }

  Result<std::uint64_t> truncate(SequenceId id, std::uint64_t rows) override {
    ZLLM_TRY(pages_.table().truncate(id, rows));
    return rows;
  }

  Result<SequenceSnapshot> export_state(SequenceId id) const override {
    ZLLM_TRY(check_closed(pages_.table(), id, "export"));
    SequenceSnapshot snapshot;
    snapshot.expected_rows = pages_.expected_rows(id);
    ZLLM_TRY(snapshot.rows, rows(id));
    ZLLM_TRY(const std::size_t bytes, pages_.export_bytes(snapshot.rows));
    snapshot.bytes.resize(bytes);
    ZLLM_TRY(pages_.export_pages(id, snapshot.bytes));
    return snapshot;
  }

  Result<SequenceId> import_state(const SequenceSnapshot& snapshot) override {
    ZLLM_TRY(const std::size_t bytes, pages_.export_bytes(snapshot.rows));
    ZLLM_TRY(check_size(snapshot, bytes));
    const SequenceId id = pages_.create(snapshot.expected_rows);
    Status filled = pages_.import_pages(id, snapshot.rows, snapshot.bytes);
    if (!filled.ok()) {
      ZLLM_CHECK(release(id).ok(), "release of a new sequence");
      return std::move(filled).error();
    }
    return id;
  }

  Result<std::uint64_t> rows(SequenceId id) const override { return pages_.table().length(id); }
  Result<std::uint64_t> size_bytes(SequenceId id) const override { return pages_.size_bytes(id); }
  std::uint64_t free_rows() const override { return pages_.free_rows(); }

  Result<std::uint64_t> expected_rows(SequenceId id) const override {
    ZLLM_TRY(rows(id));
    return pages_.expected_rows(id);
  }
  Status share_rows(SequenceId from, SequenceId to, std::uint64_t rows) override {
    return pages_.table().share(from, to, rows);
  }
  HeldBytes held_bytes(std::span<const SequenceId> ids) const override {
    return pages_.held_bytes(ids);
  }

 protected:
  Status reserve_segment(const Segment& segment) override { return pages_.reserve(segment); }

  Result<std::uint64_t> reachable(SequenceId id, std::uint64_t rows) const override {
    ZLLM_TRY(pages_.table().length(id));
    return rows;
  }

 private:
  PagePart<B> pages_;
};

}  // namespace zllm::runtime
