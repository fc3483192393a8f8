#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <zllm/base/result.h>
#include <zllm/base/strong.h>
#include <zllm/runtime/any_model.h>

namespace zllm::engine {

struct PrefixCacheOptions {
  bool is_enabled = true;
  std::uint64_t bytes = 0;       // that cached states may hold alone; 0 = what answers leave free
  std::uint32_t entries = 0;     // of recurrent models: states kept at once; 0 = a default
  std::string disk_folder = {};  // evicted states are kept there too; empty = not
  std::uint64_t disk_bytes = 0;  // of that folder; 0 = 8 GiB
  std::string model_identity = {};  // states on disk of another model are not read
};

struct CachedPrefix {
  SequenceId sequence;     // new, owned by the caller; holds the first `rows` tokens
  std::uint64_t rows = 0;  // 0 = nothing was found: the sequence is empty
  // Of recurrent models: an anchor beyond `rows` up to which another entry has the same tokens, but
  // no state. A copy kept there serves the next that starts alike. 0 = none.
  std::uint64_t branch_rows = 0;
};

struct PrefixCacheStatistics {
  std::uint64_t bytes = 0;  // that eviction of everything would free
  std::uint64_t entries = 0;
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t evictions = 0;
  std::uint64_t disk_bytes = 0;
  std::uint64_t disk_hits = 0;
};

// States of prefixes for whoever starts with the same tokens, in a radix tree over tokens whose
// entries are sequences that share pages. Used by the loop's thread alone.
class PrefixCache {
 public:
  // The model must outlive the cache.
  static Result<std::unique_ptr<PrefixCache>> create(runtime::AnyModel& model,
                                                     PrefixCacheOptions options);
  virtual ~PrefixCache() = default;

  // A new sequence with the longest prefix of `tokens` that the cache has, of at most `most` rows:
  // a fork, so that whoever holds the entry loses nothing. resource_exhausted where no sequence can
  // be made even after eviction.
  virtual Result<CachedPrefix> acquire(std::span<const TokenId> tokens, std::uint64_t most,
                                       std::uint64_t expected_rows) = 0;
  // Keeps a fork of a sequence that holds exactly `tokens` and lives on. Recurrent models: only at
  // an anchor that prefill produced.
  virtual Status keep_copy(SequenceId sequence, std::span<const TokenId> tokens) = 0;
  // Takes over a sequence that holds exactly `tokens`; it is kept or released. Recurrent: cut to
  // its last anchor.
  virtual Status keep(SequenceId sequence, std::span<const TokenId> tokens) = 0;
  // Evicts, least recently used first, until the model's states have `rows` free rows or nothing is
  // left. False when they have not.
  virtual bool make_room(std::uint64_t rows) = 0;
  // Evicts one entry, for who needs a sequence of a model that has only so many. False when there
  // is none.
  virtual bool evict_one() = 0;
  virtual void clear() = 0;
  virtual PrefixCacheStatistics statistics() const = 0;
};

// Where prompts of recurrent models are cut into chunks, and the only rows at which their states
// enter the cache: absolute multiples of this. Small enough that replaying a tail costs little.
constexpr std::uint64_t kAnchorRows = 64;

// The last anchor at or before `rows`.
constexpr std::uint64_t anchor_before(std::uint64_t rows) { return rows - rows % kAnchorRows; }

}  // namespace zllm::engine
