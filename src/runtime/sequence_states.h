#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/base/strong.h>

namespace zllm::runtime {

// The whole state of a sequence as bytes that any process with the same model can import.
struct SequenceSnapshot {
  std::uint64_t rows = 0;
  std::uint64_t expected_rows = 0;
  std::vector<std::byte> bytes;
};

// What some sequences hold together: what several of them share counts once.
struct HeldBytes {
  std::uint64_t all = 0;
  std::uint64_t alone = 0;  // that their release would free
};

// Everything that a model's sequences keep, behind one abstraction. A round reserves rows; commit
// keeps the first n of them, rollback none. Not thread-safe: one loop owns a model.
class SequenceStates {
 public:
  virtual ~SequenceStates() = default;

  // expected_rows: how many rows the sequence may come to hold, 0 = the context. It is no limit:
  // only rotary embeddings whose frequencies depend on the length read it (rope/reference.h).
  virtual Result<SequenceId> create(std::uint64_t expected_rows) = 0;
  virtual Status release(SequenceId id) = 0;
  virtual Result<SequenceId> fork(SequenceId id) = 0;  // copy on write
  // Keeps the first `rows` of the open round's rows. Recurrent state keeps a part only of a verify
  // segment; of others all rows or none.
  virtual Status commit(SequenceId id, std::uint64_t rows) = 0;
  virtual Status rollback(SequenceId id) = 0;
  // Marks the committed length as one that truncate reaches exactly; forks share the marks. The
  // oldest mark goes when a sequence has kCheckpoints. State that can be cut anywhere needs none.
  virtual Status checkpoint(SequenceId id) = 0;
  // Forgets rows from `rows` on, or from the last checkpoint before where the state can be cut only
  // there (row 0 is always one); returns how many rows are left.
  virtual Result<std::uint64_t> truncate(SequenceId id, std::uint64_t rows) = 0;
  // truncate() that fails and changes nothing unless it reaches exactly `rows`.
  virtual Status restore(SequenceId id, std::uint64_t rows) = 0;
  virtual Result<SequenceSnapshot> export_state(SequenceId id) const = 0;
  virtual Result<SequenceId> import_state(const SequenceSnapshot& snapshot) = 0;

  virtual Result<std::uint64_t> rows(SequenceId id) const = 0;  // committed
  virtual Result<std::uint64_t> size_bytes(SequenceId id) const = 0;
  // As announced; the context where create was told 0. States that nothing announces may leave 0.
  virtual Result<std::uint64_t> expected_rows(SequenceId id) const {
    ZLLM_TRY(rows(id));
    return std::uint64_t{0};
  }
  // Of sequences that exist, each named once. States that share nothing may leave this.
  virtual HeldBytes held_bytes(std::span<const SequenceId> ids) const {
    HeldBytes held;
    for (const SequenceId id : ids) {
      const Result<std::uint64_t> bytes = size_bytes(id);
      held.all += bytes.ok() ? *bytes : 0;
    }
    return {.all = held.all, .alone = held.all};
  }
  // Tells that the first `rows` rows of two sequences were computed from the same tokens, so that
  // `to` may hold the pages of `from` in place of its own. Refused while either has an open round.
  virtual Status share_rows(SequenceId /*from*/, SequenceId /*to*/, std::uint64_t /*rows*/) {
    return {};
  }
  virtual std::uint64_t free_rows() const = 0;  // that some sequence could still append
};

}  // namespace zllm::runtime
