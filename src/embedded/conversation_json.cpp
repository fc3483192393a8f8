#include <zllm/embedded/conversation_json.h>

#include <array>
#include <optional>

#include <zllm/base/json.h>
#include <zllm/base/text.h>

namespace zllm {
namespace {

// What the engine itself tells a template.
constexpr std::array<std::string_view, 5> kOwnNames = {
    "messages", "tools", "add_generation_prompt", "continue_final_message", "chat_template_kwargs"};

// Members of a JSON object one after the other. Values are JSON text and stay as they are, so that
// numbers reach the template as they were written.
class ObjectText {
 public:
  void add(std::string_view name, std::string_view json) {
    text_ += text_.empty() ? "{" : ",";
    append_json_string(text_, name);
    text_ += ':';
    text_ += json;
  }
  void add_string(std::string_view name, std::string_view value) {
    std::string json;
    append_json_string(json, value);
    add(name, json);
  }
  std::string take() { return text_.empty() ? "{}" : std::move(text_) + "}"; }

 private:
  std::string text_;
};

bool is_object(std::string_view text) {
  const auto json = Json::parse(text, "arguments");
  return json.ok() && json->as_object() != nullptr;
}

std::string_view role_name(Role role, std::string_view template_source) {
  switch (role) {
    case Role::system:
      return "system";
    case Role::developer:
      return template_source.find("developer") == std::string_view::npos ? "system" : "developer";
    case Role::user:
      return "user";
    case Role::assistant:
      return "assistant";
    case Role::tool:
      break;
  }
  return "tool";
}

std::string call_json(const ToolCall& call) {
  ObjectText function;
  function.add_string("name", call.name);
  // A model may have written what is no JSON; it goes back as the text that it is. Nothing is what
  // clients put together from the pieces of a call without arguments.
  if (call.arguments.empty()) {
    function.add("arguments", "{}");
  } else if (is_object(call.arguments)) {
    function.add("arguments", call.arguments);
  } else {
    function.add_string("arguments", call.arguments);
  }
  ObjectText object;
  if (!call.id.empty()) {
    object.add_string("id", call.id);
  }
  object.add_string("type", "function");
  object.add("function", function.take());
  return object.take();
}

std::string calls_json(const std::vector<ToolCall>& calls) {
  std::string json = "[";
  for (const ToolCall& call : calls) {
    json += concat(json.size() > 1 ? "," : "", call_json(call));
  }
  return json + "]";
}

// The name that an earlier call of this id had.
std::string_view called_name(const std::vector<Message>& messages, std::size_t before,
                             std::string_view id) {
  for (std::size_t i = before; i-- > 0;) {
    for (const ToolCall& call : messages[i].tool_calls) {
      if (call.id == id) {
        return call.name;
      }
    }
  }
  return {};
}

void add_reasoning(const Message& message, std::string_view template_source, ObjectText& out) {
  if (message.reasoning.empty()) {
    return;
  }
  out.add_string("reasoning_content", message.reasoning);
  // Harmony's template reads this name, and refuses it beside content in a turn with calls.
  const bool has_content = message.content && !message.content->empty();
  if (template_source.find("message.thinking") != std::string_view::npos &&
      !(has_content && !message.tool_calls.empty())) {
    out.add_string("thinking", message.reasoning);
  }
}

std::string message_json(const TemplateInput& input, std::size_t index) {
  const std::vector<Message>& messages = input.conversation.messages;
  const Message& message = messages[index];
  const bool is_last = index + 1 == messages.size();
  ObjectText object;
  object.add_string("role", role_name(message.role, input.template_source));
  if (message.content) {
    object.add_string("content",
                      concat(*message.content, is_last ? input.end_mark : std::string_view()));
  } else {
    object.add("content", "null");
  }
  add_reasoning(message, input.template_source, object);
  if (!message.tool_calls.empty()) {
    object.add("tool_calls", calls_json(message.tool_calls));
  }
  std::string_view name = message.name;
  if (message.role == Role::tool) {
    if (!message.tool_call_id.empty()) {
      object.add_string("tool_call_id", message.tool_call_id);
    }
    name = name.empty() ? called_name(messages, index, message.tool_call_id) : name;
  }
  if (!name.empty()) {
    object.add_string("name", name);
  }
  return object.take();
}

std::string messages_json(const TemplateInput& input) {
  std::string json = "[";
  for (std::size_t i = 0; i < input.conversation.messages.size(); ++i) {
    json += concat(i > 0 ? "," : "", message_json(input, i));
  }
  return json + "]";
}

std::string tools_json(const std::vector<Tool>& tools) {
  std::string json = "[";
  for (const Tool& tool : tools) {
    ObjectText function;
    function.add_string("name", tool.name);
    if (!tool.description.empty()) {
      function.add_string("description", tool.description);
    }
    function.add("parameters", tool.parameters.empty() ? R"({"type":"object","properties":{}})"
                                                       : std::string_view(tool.parameters));
    ObjectText object;
    object.add_string("type", "function");
    object.add("function", function.take());
    json += concat(json.size() > 1 ? "," : "", object.take());
  }
  return json + "]";
}

Failure argument_failure(std::string message) {
  return {FailureKind::invalid, std::move(message), "chat_template_kwargs"};
}

// The caller's own arguments win over what the reasoning options say.
Outcome<Done> add_arguments(const TemplateInput& input, ObjectText& out) {
  Json arguments(Json::Object{});
  if (!input.conversation.template_arguments.empty()) {
    const auto parsed = Json::parse(input.conversation.template_arguments, "chat_template_kwargs");
    if (!parsed.ok()) {
      return argument_failure(parsed.error().message);
    }
    arguments = *parsed;
  }
  if (arguments.as_object() == nullptr) {
    return argument_failure("chat_template_kwargs must be an object");
  }
  for (const auto& [name, value] : *arguments.as_object()) {
    for (const std::string_view own : kOwnNames) {
      if (name == own) {
        return argument_failure(concat("chat_template_kwargs cannot set ", quote(name)));
      }
    }
    out.add(name, value.dump());
  }
  const auto is_free = [&](std::string_view name) { return arguments.find(name) == nullptr; };
  if (const auto& is_enabled = input.reasoning.is_enabled) {
    // Most templates read the first name, DeepSeek's and Kimi's the second.
    for (const std::string_view name : {"enable_thinking", "thinking"}) {
      if (is_free(name)) {
        out.add(name, *is_enabled ? "true" : "false");
      }
    }
  }
  if (input.reasoning.effort && is_free("reasoning_effort")) {
    out.add_string("reasoning_effort", *input.reasoning.effort);
  }
  return Done();
}

}  // namespace

Outcome<std::string> conversation_json(const TemplateInput& input) {
  ObjectText request;
  request.add("messages", messages_json(input));
  if (!input.conversation.tools.empty()) {
    request.add("tools", tools_json(input.conversation.tools));
  }
  if (input.conversation.continues_last_message || !input.conversation.opens_answer) {
    request.add("add_generation_prompt", "false");
  }
  if (input.conversation.continues_last_message) {
    request.add("continue_final_message", "true");
  }
  ZLLM_TRY(add_arguments(input, request));
  return request.take();
}

}  // namespace zllm
