#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <zllm/base/result.h>
#include <zllm/engine/prefix_tree.h>
#include <zllm/runtime/sequence_states.h>

namespace zllm::engine {

struct PrefixDiskOptions {
  std::string folder;       // made, for its owner alone, where it does not exist
  std::uint64_t bytes = 0;  // of all files of prefixes in the folder, those of other models too
  std::string identity;     // of the model, its backend and how it was loaded
};

// Exported states of prefixes as files, the least recently used removed first. What is wrong with a
// file costs that file alone: it is removed. Not thread-safe; processes may share a folder.
class PrefixDisk {
 public:
  static Result<std::unique_ptr<PrefixDisk>> open(PrefixDiskOptions options);
  virtual ~PrefixDisk() = default;

  // The prefixes of this model, for lookup.
  virtual const PrefixTree& tree() const = 0;
  // A stored state, used last; nothing, and the file is gone, where it cannot be trusted.
  virtual std::optional<runtime::SequenceSnapshot> read(PrefixTree::Entry entry) = 0;
  // Stores a state unless it alone is larger than the folder may be, or the system refuses.
  virtual void write(const PrefixTree::Key& key, const runtime::SequenceSnapshot& snapshot) = 0;
  virtual void touch(PrefixTree::Entry entry) = 0;
  virtual void remove(PrefixTree::Entry entry) = 0;
  virtual std::uint64_t bytes() const = 0;
};

}  // namespace zllm::engine
