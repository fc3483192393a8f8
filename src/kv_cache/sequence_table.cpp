#include <zllm/kv_cache/sequence_table.h>

#include <algorithm>
#include <utility>

#include <zllm/base/check.h>
#include <zllm/base/checked.h>
#include <zllm/base/text.h>

namespace zllm::kv_cache {

SequenceTable::SequenceTable(std::uint32_t page_tokens, std::uint32_t capacity)
    : page_tokens_(page_tokens), pool_(capacity) {
  ZLLM_CHECK(page_tokens > 0, "pages without rows");
}

SequenceId SequenceTable::create() {
  const SequenceId id(next_id_++);
  sequences_.emplace(id, Sequence{});
  return id;
}

Status SequenceTable::release(SequenceId id) {
  ZLLM_TRY(Sequence *const sequence, find(id));
  settle_copy(*sequence, true);
  shrink(*sequence, 0);
  sequences_.erase(id);
  return {};
}

Result<SequenceId> SequenceTable::fork(SequenceId id) {
  ZLLM_TRY(Sequence *const source, find(id));
  if (source->reserved != 0) {
    return Error{Code::invalid_argument, "fork of a sequence with an open round"};
  }
  Sequence copy = *source;
  for (const PageId page : copy.pages) {
    pool_.share(page);
  }
  const SequenceId fork_id = create();
  sequences_[fork_id] = std::move(copy);
  return fork_id;
}

Result<std::vector<PageCopy>> SequenceTable::reserve(SequenceId id, std::uint64_t rows) {
  ZLLM_TRY(Sequence *const sequence, find(id));
  if (sequence->reserved != 0) {
    return Error{Code::invalid_argument, "reserve while the sequence has an open round"};
  }
  if (rows == 0) {
    return Error{Code::invalid_argument, "reserve of no rows"};
  }
  const auto total = checked_add(sequence->length, rows);
  const std::uint64_t needed = total ? pages_for(*total) : UINT64_MAX;
  const std::uint64_t held = sequence->pages.size();
  const bool is_last_partial = sequence->length % page_tokens_ != 0;
  const bool copies_last = is_last_partial && pool_.references(sequence->pages.back()) > 1;
  const std::uint64_t fresh = (needed - held) + (copies_last ? 1 : 0);
  if (needed > pool_.capacity() || fresh > pool_.free_count()) {
    return Error{Code::resource_exhausted,
                 concat("the cache has ", pool_.free_count(), " free pages of ", page_tokens_,
                        " tokens; ", rows, " more tokens need ", fresh)};
  }
  std::vector<PageCopy> copies;
  if (copies_last) {
    const PageId shared = sequence->pages.back();
    const PageId own = *pool_.allocate();
    sequence->pages.back() = own;
    copies.push_back({.from = shared, .to = own});
    sequence->copied = copies.back();
  }
  while (sequence->pages.size() < needed) {
    sequence->pages.push_back(*pool_.allocate());
  }
  sequence->reserved = rows;
  return copies;
}

Status SequenceTable::commit(SequenceId id, std::uint64_t rows) {
  ZLLM_TRY(Sequence *const sequence, find(id));
  if (rows > sequence->reserved) {
    return Error{Code::invalid_argument,
                 concat("commit of ", rows, " rows where ", sequence->reserved, " are reserved")};
  }
  sequence->reserved = 0;
  sequence->length += rows;
  shrink(*sequence, sequence->length);
  settle_copy(*sequence, rows != 0);
  return {};
}

Status SequenceTable::rollback(SequenceId id) { return commit(id, 0); }

Status SequenceTable::truncate(SequenceId id, std::uint64_t rows) {
  ZLLM_TRY(Sequence *const sequence, find(id));
  if (sequence->reserved != 0) {
    return Error{Code::invalid_argument, "truncate of a sequence with an open round"};
  }
  if (rows > sequence->length) {
    return Error{Code::invalid_argument,
                 concat("truncate to ", rows, " rows of ", sequence->length)};
  }
  sequence->length = rows;
  shrink(*sequence, rows);
  return {};
}

Status SequenceTable::share(SequenceId from, SequenceId to, std::uint64_t rows) {
  ZLLM_TRY(const Sequence *const source, find(from));
  ZLLM_TRY(Sequence *const target, find(to));
  if (source->reserved != 0 || target->reserved != 0) {
    return Error{Code::invalid_argument, "pages shared with an open round"};
  }
  if (rows > source->length || rows > target->length) {
    return Error{Code::invalid_argument, concat("share of ", rows, " rows where ", source->length,
                                                " and ", target->length, " are committed")};
  }
  for (std::uint64_t i = 0; i < rows / page_tokens_; ++i) {
    pool_.share(source->pages[i]);
    pool_.release(std::exchange(target->pages[i], source->pages[i]));
  }
  return {};
}

HeldPlaces<PageId> SequenceTable::held(std::span<const SequenceId> ids) const {
  HeldPlaces<PageId> places(pool_);
  for (const SequenceId id : ids) {
    const Sequence& sequence = sequences_.at(id);
    for (const PageId page : sequence.pages) {
      places.add(page);
    }
    if (sequence.copied) {
      places.add(sequence.copied->from);
    }
  }
  return places;
}

Result<std::uint64_t> SequenceTable::length(SequenceId id) const {
  ZLLM_TRY(const Sequence *const sequence, find(id));
  return sequence->length;
}

Result<std::uint64_t> SequenceTable::reserved(SequenceId id) const {
  ZLLM_TRY(const Sequence *const sequence, find(id));
  return sequence->reserved;
}

Result<std::span<const PageId>> SequenceTable::pages(SequenceId id) const {
  ZLLM_TRY(const Sequence *const sequence, find(id));
  return std::span<const PageId>(sequence->pages);
}

Result<const SequenceTable::Sequence *> SequenceTable::find(SequenceId id) const {
  const auto found = sequences_.find(id);
  if (found == sequences_.end()) {
    return Error{Code::not_found, concat("sequence ", id.value(), " does not exist")};
  }
  return &found->second;
}

Result<SequenceTable::Sequence *> SequenceTable::find(SequenceId id) {
  const auto found = sequences_.find(id);
  if (found == sequences_.end()) {
    return Error{Code::not_found, concat("sequence ", id.value(), " does not exist")};
  }
  return &found->second;
}

std::uint64_t SequenceTable::pages_for(std::uint64_t rows) const {
  return rows / page_tokens_ + (rows % page_tokens_ != 0 ? 1 : 0);
}

// Ends the open round's hold on the page that it copied; the copy is the sequence's page or given
// back.
void SequenceTable::settle_copy(Sequence& sequence, bool is_kept) {
  const auto copied = std::exchange(sequence.copied, std::nullopt);
  if (!copied) {
    return;
  }
  if (!is_kept) {
    std::ranges::replace(sequence.pages, copied->to, copied->from);
  }
  pool_.release(is_kept ? copied->from : copied->to);
}

void SequenceTable::shrink(Sequence& sequence, std::uint64_t rows) {
  const std::uint64_t kept = pages_for(rows);
  while (sequence.pages.size() > kept) {
    pool_.release(sequence.pages.back());
    sequence.pages.pop_back();
  }
}

}  // namespace zllm::kv_cache
