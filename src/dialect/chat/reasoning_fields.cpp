#include <zllm/dialect/chat/reasoning_fields.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <zllm/base/text.h>

namespace zllm::dialect::chat {
namespace {

// What a template gets from other fields alone.
bool is_own_argument(std::string_view name) {
  return name == "messages" || name == "tools" || name == "add_generation_prompt" ||
         name == "continue_final_message";
}

void read_template_arguments(FieldReader& fields, Conversation& conversation,
                             ReasoningOptions& reasoning) {
  const Json *arguments = fields.object("chat_template_kwargs");
  if (arguments == nullptr) {
    return;
  }
  Json::Object rest;
  for (const auto& [name, value] : *arguments->as_object()) {
    if (is_own_argument(name)) {
      fields.fail(wrong_value(member_path("chat_template_kwargs", name),
                              "a field of the request, and set by it alone"));
    } else if (name == "enable_thinking" && value.as_bool() != nullptr) {
      if (reasoning.is_enabled && *reasoning.is_enabled != *value.as_bool()) {
        fields.fail(wrong_value("chat_template_kwargs.enable_thinking",
                                "another field of the request says the opposite"));
      }
      reasoning.is_enabled = *value.as_bool();
    } else {
      rest.emplace_back(name, value);
    }
  }
  conversation.template_arguments = rest.empty() ? std::string() : Json(std::move(rest)).dump();
}

void read_budget(FieldReader& fields, ReasoningOptions& reasoning) {
  const std::string_view first = fields.either("reasoning_budget", "thinking_budget");
  const auto budget = fields.integer(fields.either(first, "thinking_token_budget"), {.least = -1});
  if (budget && *budget >= 0) {  // -1: no bound
    reasoning.budget = static_cast<std::uint64_t>(*budget);
  }
}

void read_continuation(FieldReader& fields, Conversation& conversation) {
  const bool continues = fields.boolean("continue_final_message").value_or(false);
  const bool begins = fields.boolean("add_generation_prompt").value_or(!continues);
  if (begins && continues) {
    fields.fail("add_generation_prompt",
                "an answer does not both begin a message and continue the last one, as "
                "'continue_final_message' asks");
    return;
  }
  if (continues && !conversation.messages.empty()) {
    const Message& last = conversation.messages.back();
    if (last.role != Role::assistant || !last.content || !last.tool_calls.empty()) {
      fields.fail("continue_final_message",
                  "the last message must be the assistant's, with content and without calls");
    }
  }
  conversation.continues_last_message = continues;
  conversation.opens_answer = begins;
}

}  // namespace

void read_reasoning(FieldReader& fields, Conversation& conversation, ReasoningOptions& reasoning) {
  reasoning.is_enabled = fields.boolean("enable_thinking");
  const auto effort =
      fields.word("reasoning_effort", {"none", "minimal", "low", "medium", "high", "xhigh"});
  if (effort == "none") {
    if (reasoning.is_enabled == true) {
      fields.fail("reasoning_effort", "'enable_thinking' says the opposite");
    }
    reasoning.is_enabled = false;
  } else if (effort) {
    // Some templates do not think unless they are asked to.
    reasoning.is_enabled = reasoning.is_enabled.value_or(true);
    reasoning.effort = std::string(*effort);
  }
  read_budget(fields, reasoning);
  reasoning.is_separate = fields.word("reasoning_format", {"auto", "none", "deepseek"}) != "none";
  read_template_arguments(fields, conversation, reasoning);
  read_continuation(fields, conversation);
}

}  // namespace zllm::dialect::chat
