#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/base/strong.h>
#include <zllm/kv_cache/held_places.h>
#include <zllm/kv_cache/reference_pool.h>

namespace zllm::kv_cache {

// A whole-page copy that the page store must make before new rows are written.
struct PageCopy {
  PageId from;
  PageId to;
};

// Block tables of all sequences over one page pool: position p of a sequence lies in its page
// p / page_tokens. Full pages may be shared by several sequences; a shared page is copied before a
// row is written into it. Every change is a transaction: reserve, then commit or rollback.
// Not thread-safe.
class SequenceTable {
 public:
  // page_tokens: rows of one page; capacity: pages of the store.
  SequenceTable(std::uint32_t page_tokens, std::uint32_t capacity);

  SequenceId create();
  Status release(SequenceId id);
  // A new sequence with the same committed rows, sharing all pages. Refused while rows are
  // reserved.
  Result<SequenceId> fork(SequenceId id);

  // Makes room for rows after the committed ones. Refused, with nothing changed, when the pool is
  // short or rows are reserved already. The copies must be made before any reserved row is written.
  Result<std::vector<PageCopy>> reserve(SequenceId id, std::uint64_t rows);
  // Keeps the first `rows` of the reserved rows and gives pages that hold only others back.
  Status commit(SequenceId id, std::uint64_t rows);
  // Gives up all reserved rows and copies, made or not: the sequence has its shared page again. The
  // contents of committed rows are untouched.
  Status rollback(SequenceId id);
  // Forgets committed rows from `rows` on. Refused while rows are reserved.
  Status truncate(SequenceId id, std::uint64_t rows);
  // Gives `to` the whole pages of `from` within their first `rows` rows, which the caller knows to
  // be the same, in place of its own. Refused while rows of either are reserved.
  Status share(SequenceId from, SequenceId to, std::uint64_t rows);

  Result<std::uint64_t> length(SequenceId id) const;    // committed rows
  Result<std::uint64_t> reserved(SequenceId id) const;  // rows of the open transaction
  // Pages in order, enough for committed and reserved rows. Valid until the sequence changes.
  Result<std::span<const PageId>> pages(SequenceId id) const;

  // The pages of some sequences that exist.
  HeldPlaces<PageId> held(std::span<const SequenceId> ids) const;

  std::uint32_t page_tokens() const { return page_tokens_; }
  const PagePool& pool() const { return pool_; }
  std::size_t count() const { return sequences_.size(); }

 private:
  struct Sequence {
    std::vector<PageId> pages;
    std::uint64_t length = 0;
    std::uint64_t reserved = 0;
    std::optional<PageCopy> copied;  // by the open round, which keeps a reference to `from`
  };

  Result<Sequence *> find(SequenceId id);
  Result<const Sequence *> find(SequenceId id) const;
  std::uint64_t pages_for(std::uint64_t rows) const;
  void settle_copy(Sequence& sequence, bool is_kept);
  void shrink(Sequence& sequence, std::uint64_t rows);

  std::uint32_t page_tokens_;
  PagePool pool_;
  std::uint64_t next_id_ = 1;
  std::unordered_map<SequenceId, Sequence> sequences_;
};

}  // namespace zllm::kv_cache
