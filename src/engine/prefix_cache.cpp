#include <zllm/engine/prefix_cache.h>

#include <algorithm>
#include <utility>
#include <vector>

#include <zllm/base/check.h>
#include <zllm/base/text.h>
#include <zllm/engine/prefix_disk.h>
#include <zllm/engine/prefix_tree.h>

namespace zllm::engine {
namespace {

using Entry = PrefixTree::Entry;
using Key = PrefixTree::Key;
using Match = PrefixTree::Match;

// Fewer rows are computed sooner than they are read from a file.
constexpr std::uint64_t kDiskRows = 64;

constexpr std::uint64_t kDiskBytes = std::uint64_t{8} << 30;  // unless asked otherwise

// Of the sequences that a recurrent model was loaded for, the rest is for answers.
constexpr std::uint32_t kEntriesShare = 2;

SequenceId sequence_of(Entry entry) { return SequenceId(entry.value()); }
Entry entry_of(SequenceId sequence) { return Entry(sequence.value()); }

// Each entry is named after its sequence.
class StatesCache final : public PrefixCache {
 public:
  StatesCache(runtime::AnyModel& model, PrefixCacheOptions options,
              std::unique_ptr<PrefixDisk> disk)
      : model_(model), options_(std::move(options)), disk_(std::move(disk)) {
    if (options_.entries == 0) {
      options_.entries = std::max(1u, info().sequences / kEntriesShare);
    }
  }

  ~StatesCache() override {
    const std::vector<Entry> oldest_first(tree_.by_use().begin(), tree_.by_use().end());
    for (const Entry entry : oldest_first) {
      spill(entry);
      drop(entry);
      if (disk_) {
        disk_->flush();
      }
    }
  }

  StatesCache(const StatesCache&) = delete;
  StatesCache& operator=(const StatesCache&) = delete;

  Result<CachedPrefix> acquire(std::span<const TokenId> tokens, std::uint64_t most,
                               std::uint64_t expected_rows) override;
  Status keep_copy(SequenceId sequence, std::span<const TokenId> tokens) override;
  Status keep(SequenceId sequence, std::span<const TokenId> tokens) override;
  bool make_room(std::uint64_t rows) override;

  bool evict_one() override {
    const auto victim = choose_victim();
    if (victim) {
      evict(*victim);
    }
    return victim.has_value();
  }

  void clear() override {
    while (const auto entry = tree_.least_recent()) {
      drop(*entry);
    }
  }

  PrefixCacheStatistics statistics() const override {
    PrefixCacheStatistics now = counters_;
    now.bytes = held().alone;
    now.entries = tree_.size();
    now.disk_bytes = disk_ ? disk_->bytes() : 0;
    return now;
  }

 private:
  const runtime::ModelInfo& info() const { return model_.info(); }
  runtime::SequenceStates& states() const { return model_.states(); }

  runtime::HeldBytes held() const {
    std::vector<SequenceId> sequences;
    sequences.reserve(tree_.size());
    std::ranges::transform(tree_.by_use(), std::back_inserter(sequences), sequence_of);
    return states().held_bytes(sequences);
  }
  runtime::HeldBytes held(SequenceId sequence) const {
    return states().held_bytes(std::span(&sequence, 1));
  }

  void release(SequenceId sequence) {
    ZLLM_CHECK(states().release(sequence).ok(), "release of a cached sequence");
  }
  void drop(Entry entry) {
    tree_.erase(entry);
    release(sequence_of(entry));
  }
  void evict(Entry entry) {
    spill(entry);
    drop(entry);
    ++counters_.evictions;
  }

  std::optional<Entry> choose_victim(std::optional<Entry> spared = {}) const;
  std::optional<Entry> choose_freeing() const;
  void spill(Entry entry);
  void restore(const Key& key);
  Result<SequenceId> import(const runtime::SequenceSnapshot& snapshot, const Key& key);

  // What an entry shares with the key can be reused as far as its state can be cut.
  std::optional<Match> best_match(const PrefixTree& tree, const Key& key) const {
    return info().is_recurrent ? tree.longest_prefix(key) : tree.longest_shared(key);
  }
  std::uint64_t branch_rows(const Key& key) const;
  Result<std::optional<CachedPrefix>> find(const Key& key);
  Result<std::optional<CachedPrefix>> find_checkpoint(const Key& key, std::uint64_t beyond);
  Result<SequenceId> create(std::uint64_t expected_rows);
  Result<SequenceId> claim(Entry entry);

  Result<Key> key_of(SequenceId sequence, std::span<const TokenId> tokens) const;
  Result<bool> store(SequenceId sequence, std::span<const TokenId> tokens);
  Result<std::uint64_t> cut_to_anchor(SequenceId sequence, std::uint64_t rows);
  Result<std::uint64_t> cut_to_cap(SequenceId sequence, std::uint64_t rows);
  void insert(SequenceId sequence, const Key& key);
  void shrink_to_caps();

  runtime::AnyModel& model_;
  PrefixCacheOptions options_;
  std::unique_ptr<PrefixDisk> disk_;  // may be none
  PrefixTree tree_;
  PrefixCacheStatistics counters_;
};

// A state that is missed little goes first: the next request that starts alike replays some rows
// from the anchor before it.
std::optional<Entry> StatesCache::choose_victim(std::optional<Entry> spared) const {
  const auto redundant = info().is_recurrent ? tree_.most_redundant() : std::nullopt;
  if (redundant && redundant != spared) {
    return redundant;
  }
  for (const Entry entry : tree_.by_use()) {
    if (entry != spared) {
      return entry;
    }
  }
  return {};
}

// The next victim whose eviction frees memory: not one that running answers hold as well.
std::optional<Entry> StatesCache::choose_freeing() const {
  for (const Entry entry : tree_.by_use()) {
    if (held(sequence_of(entry)).alone != 0) {
      return entry;
    }
  }
  return held().alone != 0 ? tree_.least_recent() : std::nullopt;
}

bool StatesCache::make_room(std::uint64_t rows) {
  while (states().free_rows() < rows) {
    const auto victim = choose_freeing();
    if (!victim) {
      return false;
    }
    evict(*victim);
  }
  return true;
}

Result<SequenceId> StatesCache::create(std::uint64_t expected_rows) {
  while (true) {
    auto created = states().create(expected_rows);
    if (created.ok() || created.error().code != Code::resource_exhausted || !evict_one()) {
      return created;
    }
  }
}

// A fork of an entry. Where the model has no sequence left others are evicted, and the last entry
// gives its own away.
Result<SequenceId> StatesCache::claim(Entry entry) {
  tree_.touch(entry);
  while (true) {
    auto copy = states().fork(sequence_of(entry));
    if (copy.ok() || copy.error().code != Code::resource_exhausted) {
      return copy;
    }
    const auto victim = choose_victim(entry);
    if (!victim) {
      tree_.erase(entry);
      return sequence_of(entry);
    }
    evict(*victim);
  }
}

Result<CachedPrefix> StatesCache::acquire(std::span<const TokenId> tokens, std::uint64_t most,
                                          std::uint64_t expected_rows) {
  const Key key{.kind = runtime::table_length(info(), expected_rows),
                .tokens = tokens.first(std::min<std::uint64_t>(tokens.size(), most))};
  if (options_.is_enabled && !key.tokens.empty()) {
    restore(key);
    const std::uint64_t branch = branch_rows(key);
    ZLLM_TRY(auto found, find(key));
    ++(found ? counters_.hits : counters_.misses);
    if (!found) {
      ZLLM_TRY(const SequenceId sequence, create(expected_rows));
      found = CachedPrefix{.sequence = sequence};
    }
    found->branch_rows = branch > found->rows ? branch : 0;
    return *found;
  }
  ZLLM_TRY(const SequenceId sequence, create(expected_rows));
  return CachedPrefix{.sequence = sequence};
}

std::uint64_t StatesCache::branch_rows(const Key& key) const {
  const auto shared = info().is_recurrent ? tree_.longest_shared(key) : std::nullopt;
  return shared ? anchor_before(shared->rows) : 0;
}

Result<std::optional<CachedPrefix>> StatesCache::find(const Key& key) {
  if (info().is_recurrent) {
    const auto anchored = tree_.longest_prefix(key);
    ZLLM_TRY(auto marked, find_checkpoint(key, anchored ? anchored->rows : 0));
    if (marked) {
      return marked;
    }
  }
  const auto match = best_match(tree_, key);
  if (!match) {
    return std::optional<CachedPrefix>();
  }
  ZLLM_TRY(const SequenceId sequence, claim(match->entry));
  ZLLM_TRY(const std::uint64_t rows, states().truncate(sequence, match->rows));
  return std::optional(CachedPrefix{.sequence = sequence, .rows = rows});
}

// Of an entry that goes on otherwise than the key, an anchor that it still has a checkpoint of.
Result<std::optional<CachedPrefix>> StatesCache::find_checkpoint(const Key& key,
                                                                 std::uint64_t beyond) {
  const auto match = tree_.longest_shared(key);
  if (!match || anchor_before(match->rows) <= beyond) {
    return std::optional<CachedPrefix>();
  }
  const auto copy = states().fork(sequence_of(match->entry));
  if (!copy.ok()) {
    return std::optional<CachedPrefix>();
  }
  ZLLM_TRY(const std::uint64_t rows, states().truncate(*copy, anchor_before(match->rows)));
  if (rows <= beyond || anchor_before(rows) != rows) {
    release(*copy);
    return std::optional<CachedPrefix>();
  }
  tree_.touch(match->entry);
  return std::optional(CachedPrefix{.sequence = *copy, .rows = rows});
}

Result<Key> StatesCache::key_of(SequenceId sequence, std::span<const TokenId> tokens) const {
  ZLLM_TRY(const std::uint64_t rows, states().rows(sequence));
  if (rows != tokens.size()) {
    return Error{Code::invalid_argument,
                 concat("a sequence of ", rows, " rows kept as ", tokens.size(), " tokens")};
  }
  ZLLM_TRY(const std::uint64_t expected_rows, states().expected_rows(sequence));
  return Key{.kind = runtime::table_length(info(), expected_rows), .tokens = tokens};
}

Status StatesCache::keep_copy(SequenceId sequence, std::span<const TokenId> tokens) {
  if (!options_.is_enabled || tokens.empty()) {
    return {};
  }
  ZLLM_TRY(const Key key, key_of(sequence, tokens));
  if (info().is_recurrent) {
    if (anchor_before(tokens.size()) != tokens.size()) {
      return Error{Code::invalid_argument,
                   concat("a copy of ", tokens.size(), " rows is kept, which is no anchor")};
    }
    ZLLM_TRY(states().checkpoint(sequence));
  }
  const auto match = best_match(tree_, key);
  if (match && match->rows == tokens.size()) {
    tree_.touch(match->entry);
    return {};
  }
  auto copy = states().fork(sequence);
  while (!copy.ok() && copy.error().code == Code::resource_exhausted && evict_one()) {
    copy = states().fork(sequence);
  }
  if (!copy.ok()) {
    // Answers need all sequences: nothing is kept.
    return copy.error().code == Code::resource_exhausted ? Status() : std::move(copy).error();
  }
  insert(*copy, key);
  return {};
}

Status StatesCache::keep(SequenceId sequence, std::span<const TokenId> tokens) {
  auto is_taken = store(sequence, tokens);
  if (!is_taken.ok() || !*is_taken) {
    ZLLM_TRY(states().release(sequence));
  }
  return is_taken.ok() ? Status() : std::move(is_taken).error();
}

// Makes a sequence an entry, or tells that it is none.
Result<bool> StatesCache::store(SequenceId sequence, std::span<const TokenId> tokens) {
  if (!options_.is_enabled || tokens.empty()) {
    return false;
  }
  ZLLM_TRY(Key key, key_of(sequence, tokens));
  ZLLM_TRY(const std::uint64_t rows, info().is_recurrent ? cut_to_anchor(sequence, tokens.size())
                                                         : cut_to_cap(sequence, tokens.size()));
  key.tokens = tokens.first(rows);
  if (rows == 0) {
    return false;
  }
  const auto match = best_match(tree_, key);
  if (match && match->rows == rows) {
    tree_.touch(match->entry);
    return false;
  }
  insert(sequence, key);
  return true;
}

// To the last anchor that keep_copy marked. Whether the state at the very end came from prefill is
// not known, so that it counts as none; had it been kept there, it is an entry already.
Result<std::uint64_t> StatesCache::cut_to_anchor(SequenceId sequence, std::uint64_t rows) {
  do {
    ZLLM_TRY(rows, states().truncate(sequence, rows - 1));
  } while (anchor_before(rows) != rows);
  return rows;
}

// A state that does not fit as a whole is kept as far as it fits.
Result<std::uint64_t> StatesCache::cut_to_cap(SequenceId sequence, std::uint64_t rows) {
  while (options_.bytes != 0 && rows != 0) {
    const std::uint64_t all = held(sequence).all;
    if (all <= options_.bytes) {
      break;
    }
    const double part = static_cast<double>(options_.bytes) / static_cast<double>(all);
    rows = std::min(rows - 1, static_cast<std::uint64_t>(static_cast<double>(rows) * part));
    ZLLM_TRY(states().truncate(sequence, rows));
  }
  return rows;
}

// The key is that of no entry.
void StatesCache::insert(SequenceId sequence, const Key& key) {
  if (const auto shared = tree_.longest_shared(key)) {
    const Status status = states().share_rows(sequence_of(shared->entry), sequence, shared->rows);
    ZLLM_CHECK(status.ok(), "pages of a cached sequence");
  }
  if (!info().is_recurrent) {
    if (const auto shorter = tree_.longest_prefix(key)) {
      drop(shorter->entry);
    }
  }
  tree_.insert(key, entry_of(sequence));
  shrink_to_caps();
}

void StatesCache::shrink_to_caps() {
  while (info().is_recurrent && tree_.size() > options_.entries) {
    evict_one();
  }
  // Bytes that running answers hold too are counted: the cap also holds once those end.
  while (options_.bytes != 0 && tree_.size() != 0 && held().all > options_.bytes) {
    evict_one();
  }
}

void StatesCache::spill(Entry entry) {
  if (!disk_ || tree_.rows(entry) < kDiskRows) {
    return;
  }
  const std::vector<TokenId> tokens = tree_.tokens(entry);
  const Key key{.kind = tree_.kind(entry), .tokens = tokens};
  const auto known = best_match(disk_->tree(), key);
  if (known && known->rows == tokens.size()) {
    disk_->touch(known->entry);
    return;
  }
  auto snapshot = states().export_state(sequence_of(entry));
  if (snapshot.ok()) {
    disk_->write(key, *std::move(snapshot));
  }
}

Result<SequenceId> StatesCache::import(const runtime::SequenceSnapshot& snapshot, const Key& key) {
  if (snapshot.rows != key.tokens.size() ||
      runtime::table_length(info(), snapshot.expected_rows) != key.kind) {
    return Error{Code::invalid_file, "a stored state is not that of its tokens"};
  }
  if (!make_room(snapshot.rows)) {
    return Error{Code::resource_exhausted, "no rows for a stored state"};
  }
  auto imported = states().import_state(snapshot);
  while (!imported.ok() && imported.error().code == Code::resource_exhausted && evict_one()) {
    imported = states().import_state(snapshot);
  }
  if (imported.ok()) {
    ZLLM_CHECK(states().checkpoint(*imported).ok(), "checkpoint of a new sequence");
  }
  return imported;
}

// Makes an entry of what the disk has where it is longer than what memory has.
void StatesCache::restore(const Key& key) {
  const auto stored = disk_ ? best_match(disk_->tree(), key) : std::nullopt;
  const auto match = best_match(tree_, key);
  if (!stored || stored->rows < (match ? match->rows : 0) + kDiskRows) {
    return;
  }
  const std::vector<TokenId> tokens = disk_->tree().tokens(stored->entry);
  const auto snapshot = disk_->read(stored->entry);
  if (!snapshot) {
    return;
  }
  auto imported = import(*snapshot, {.kind = key.kind, .tokens = tokens});
  if (!imported.ok()) {
    if (imported.error().code != Code::resource_exhausted) {
      disk_->remove(stored->entry);
    }
    return;
  }
  ++counters_.disk_hits;
  insert(*imported, {.kind = key.kind, .tokens = tokens});
}

}  // namespace

Result<std::unique_ptr<PrefixCache>> PrefixCache::create(runtime::AnyModel& model,
                                                         PrefixCacheOptions options) {
  std::unique_ptr<PrefixDisk> disk;
  const runtime::ModelInfo& info = model.info();
  if (options.is_enabled && !options.disk_folder.empty()) {
    if (options.model_identity.empty()) {
      return Error{Code::invalid_argument,
                   "states on disk need the model's identity, so that no other model reads them"};
    }
    const std::string identity =
        concat(options.model_identity, " ", info.architecture, " ", info.backend, " layers ",
               info.first_layer, "-", info.end_layer, " of ", info.layers, " ",
               info.state_bytes_per_row, " bytes a row");
    ZLLM_TRY(disk,
             PrefixDisk::open({.folder = options.disk_folder,
                               .bytes = options.disk_bytes == 0 ? kDiskBytes : options.disk_bytes,
                               .identity = identity}));
  }
  return std::unique_ptr<PrefixCache>(
      std::make_unique<StatesCache>(model, std::move(options), std::move(disk)));
}

}  // namespace zllm::engine
