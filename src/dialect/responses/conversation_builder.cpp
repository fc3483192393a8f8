#include <zllm/dialect/responses/conversation_builder.h>

#include <utility>

namespace zllm::dialect::responses {

ConversationBuilder::ConversationBuilder(std::vector<Message> turns)
    : turns_(std::move(turns)), begun_(turns_.size()) {
  for (const Message& turn : turns_) {
    for (const ToolCall& call : turn.tool_calls) {
      call_names_.insert_or_assign(call.id, call.name);
    }
  }
}

void ConversationBuilder::add_message(Role role, std::string text) {
  Message *open = role == Role::assistant ? open_turn() : nullptr;
  Message& turn = open != nullptr && !open->content.has_value() ? *open : new_turn(role);
  turn.content = std::move(text);
}

void ConversationBuilder::add_reasoning(std::string_view text) {
  Message *open = open_turn();
  const bool is_new = open == nullptr || open->content.has_value() || !open->tool_calls.empty();
  (is_new ? new_turn(Role::assistant) : *open).reasoning += text;
}

void ConversationBuilder::add_call(ToolCall call) {
  Message *open = open_turn();
  call_names_.insert_or_assign(call.id, call.name);
  (open == nullptr ? new_turn(Role::assistant) : *open).tool_calls.push_back(std::move(call));
}

bool ConversationBuilder::add_result(const std::string& call_id, std::string output) {
  const auto call = call_names_.find(call_id);
  if (call == call_names_.end()) {
    return false;
  }
  Message& turn = new_turn(Role::tool);
  turn.content = std::move(output);
  turn.tool_call_id = call_id;
  turn.name = call->second;
  return true;
}

Message *ConversationBuilder::open_turn() {
  return turns_.size() > begun_ && turns_.back().role == Role::assistant ? &turns_.back() : nullptr;
}

Message& ConversationBuilder::new_turn(Role role) {
  turns_.push_back({.role = role});
  return turns_.back();
}

}  // namespace zllm::dialect::responses
