#pragma once

#include <cstddef>
#include <vector>

#include <zllm/embedded/request.h>

namespace zllm {

// What of a conversation may be left out, the oldest first: turns of a user with all that followed,
// and after the user's last message single answers. Calls go with their results. Guidance, the
// user's last message and what the conversation ends with stay.
class OldestTurns {
 public:
  // Refers to the conversation.
  explicit OldestTurns(const Conversation& conversation);

  std::size_t count() const { return count_; }
  // The conversation without the first so many.
  Conversation without(std::size_t count) const;

 private:
  const Conversation& conversation_;
  std::size_t count_ = 0;
  std::vector<std::size_t> turns_;  // of each message
};

}  // namespace zllm
