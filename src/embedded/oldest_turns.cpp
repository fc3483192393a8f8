#include <zllm/embedded/oldest_turns.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <string_view>
#include <unordered_map>

namespace zllm {
namespace {

constexpr std::size_t kStays = std::numeric_limits<std::size_t>::max();

std::size_t last_of_user(const std::vector<Message>& messages) {
  const auto last = std::find_if(messages.rbegin(), messages.rend(),
                                 [](const Message& each) { return each.role == Role::user; });
  return static_cast<std::size_t>(std::distance(last, messages.rend())) - 1;
}

}  // namespace

OldestTurns::OldestTurns(const Conversation& conversation) : conversation_(conversation) {
  const std::vector<Message>& messages = conversation.messages;
  const std::size_t last = last_of_user(messages);  // of none: the largest number
  std::unordered_map<std::string_view, std::size_t> calls;
  std::size_t current = kStays;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const Message& message = messages[i];
    std::size_t turn = kStays;
    switch (message.role) {
      case Role::system:
      case Role::developer:
        break;
      case Role::user:
        current = turn = i == last ? kStays : count_++;
        break;
      case Role::assistant: {
        const bool begins = current == kStays || i > last || last >= messages.size();
        current = turn = begins ? count_++ : current;
        break;
      }
      case Role::tool: {
        const auto call = calls.find(message.tool_call_id);
        turn = call == calls.end() ? current : call->second;
        break;
      }
    }
    for (const ToolCall& call : message.tool_calls) {
      calls.insert_or_assign(call.id, turn);
    }
    turns_.push_back(turn);
  }
  // The numbers after that of the end move up.
  const std::size_t end = turns_.empty() ? kStays : turns_.back();
  for (std::size_t& turn : turns_) {
    turn = turn == end ? kStays : turn > end && turn != kStays ? turn - 1 : turn;
  }
  count_ -= end == kStays ? 0 : 1;
}

Conversation OldestTurns::without(std::size_t count) const {
  Conversation shorter = conversation_;
  std::size_t index = 0;
  std::erase_if(shorter.messages, [&](const Message&) {
    const std::size_t turn = turns_[index++];
    return turn != kStays && turn < count;
  });
  return shorter;
}

}  // namespace zllm
