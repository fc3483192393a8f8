#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include <zllm/embedded/failure.h>
#include <zllm/embedded/message.h>

namespace zllm::dialect::responses {

// Makes turns of items: neighbouring reasoning, text and calls of an assistant are one turn.
class ConversationBuilder {
 public:
  // Goes on from these turns.
  explicit ConversationBuilder(std::vector<Message> turns);

  void add_message(Role role, std::string text);
  void add_reasoning(std::string_view text);
  void add_call(ToolCall call);
  // False when no call before has the id.
  bool add_result(const std::string& call_id, std::string output);

  std::vector<Message> take() { return std::move(turns_); }

 private:
  // The assistant's turn that the last item went into; null when the last was of another.
  Message *open_turn();
  Message& new_turn(Role role);

  std::vector<Message> turns_;
  std::size_t begun_ = 0;                                    // turns that were there before
  std::unordered_map<std::string, std::string> call_names_;  // by id
};

}  // namespace zllm::dialect::responses
