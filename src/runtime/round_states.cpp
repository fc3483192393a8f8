#include <zllm/runtime/round_states.h>

#include <zllm/base/check.h>
#include <zllm/base/text.h>

namespace zllm::runtime {

Status RoundStates::reserve(const Round& round) {
  for (std::size_t i = 0; i < round.segments.size(); ++i) {
    Status reserved = reserve_segment(round.segments[i]);
    if (!reserved.ok()) {
      roll_back(round, i);
      return reserved;
    }
  }
  return {};
}

void RoundStates::roll_back(const Round& round, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    ZLLM_CHECK(rollback(round.segments[i].sequence).ok(), "rollback of a reserved segment");
  }
}

Status RoundStates::restore(SequenceId id, std::uint64_t rows) {
  ZLLM_TRY(const std::uint64_t reached, reachable(id, rows));
  if (reached != rows) {
    return Error{Code::invalid_argument,
                 concat("restore of sequence ", id.value(), " to ", rows,
                        " rows: no checkpoint there, the last one before is at ", reached)};
  }
  ZLLM_TRY(truncate(id, rows));
  return {};
}

Status check_closed(const kv_cache::SequenceTable& table, SequenceId id, std::string_view what) {
  ZLLM_TRY(const std::uint64_t reserved, table.reserved(id));
  if (reserved != 0) {
    return Error{Code::invalid_argument, concat(what, " of a sequence with an open round")};
  }
  return {};
}

Status check_size(const SequenceSnapshot& snapshot, std::optional<std::size_t> bytes) {
  if (!bytes || *bytes != snapshot.bytes.size()) {
    return Error{Code::invalid_argument,
                 concat("a snapshot of ", snapshot.rows, " rows has ", snapshot.bytes.size(),
                        " bytes where this model keeps ", bytes.value_or(0))};
  }
  return {};
}

}  // namespace zllm::runtime
