#include <zllm/dialect/chat/message_fields.h>

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include <zllm/base/text.h>

namespace zllm::dialect::chat {
namespace {

Role role_of(std::string_view word) {
  if (word == "system") {
    return Role::system;
  }
  if (word == "developer") {
    return Role::developer;
  }
  if (word == "assistant") {
    return Role::assistant;
  }
  return word == "tool" ? Role::tool : Role::user;
}

// One part of a content: {"type": "text", "text"}, of an assistant also {"type": "refusal",
// "refusal"}.
Outcome<std::string> read_part(const Json& value, std::string path, Role role) {
  FieldReader reader(value, std::move(path));
  reader.require("type");
  const auto type = reader.text("type");
  if (type == "text") {
    reader.require("text");
    auto text = reader.text("text");
    ZLLM_TRY(reader.finish());
    return std::move(*text);
  }
  if (type == "refusal" && role == Role::assistant) {
    reader.require("refusal");
    auto refusal = reader.text("refusal");
    ZLLM_TRY(reader.finish());
    return std::move(*refusal);
  }
  if (type) {
    reader.fail(unsupported_field(reader.path_of("type"),
                                  concat("parts of type ", quote(*type), " are not read here")));
  }
  ZLLM_TRY(reader.finish());
  return std::string();
}

// A string, an array of parts, or nothing.
std::optional<std::string> read_content(FieldReader& message, Role role) {
  const Json *value = message.take("content");
  if (value == nullptr) {
    return std::nullopt;
  }
  if (const std::string *text = value->as_string()) {
    return *text;
  }
  const std::string path = message.path_of("content");
  const Json::Array *parts = value->as_array();
  if (parts == nullptr) {
    message.fail(wrong_type(path, "a string or an array of parts", *value));
    return std::nullopt;
  }
  std::string joined;
  for (std::size_t i = 0; i < parts->size(); ++i) {
    const auto text = message.keep(read_part((*parts)[i], element_path(path, i), role));
    if (!text) {
      return std::nullopt;
    }
    joined += i == 0 ? "" : "\n";
    joined += *text;
  }
  return joined;
}

Outcome<ToolCall> read_call(const Json& value, std::string path) {
  FieldReader reader(value, std::move(path));
  ToolCall call;
  reader.require("id");
  call.id = reader.text("id").value_or("");
  reader.word("type", {"function"});
  reader.integer("index");  // as in pieces of a stream that a client put together
  reader.require("function");
  if (const Json *value_of_function = reader.object("function")) {
    FieldReader function(*value_of_function, reader.path_of("function"));
    function.require("name");
    call.name = function.text("name").value_or("");
    // An object is what the text of one stands for, and some clients send it.
    const Json *arguments = function.take("arguments");
    if (arguments != nullptr && arguments->as_object() != nullptr) {
      call.arguments = arguments->dump();
    } else if (arguments != nullptr) {
      call.arguments =
          function.keep(read_text(*arguments, function.path_of("arguments"))).value_or("");
    }
    ZLLM_TRY(function.finish());
  }
  ZLLM_TRY(reader.finish());
  return call;
}

void read_assistant_fields(FieldReader& reader, Message& message) {
  const Json::Array *calls = reader.array("tool_calls");
  for (std::size_t i = 0; calls != nullptr && i < calls->size(); ++i) {
    auto call = reader.keep(read_call((*calls)[i], element_path(reader.path_of("tool_calls"), i)));
    if (call) {
      message.tool_calls.push_back(std::move(*call));
    }
  }
  message.reasoning = reader.text(reader.either("reasoning_content", "reasoning")).value_or("");
  const auto refusal = reader.text("refusal");
  if (refusal && !message.content) {
    message.content = *refusal;
  }
  reader.array("annotations");  // of earlier answers, sent back; no model sees them
  reader.refuse("audio", "sound is not read here");
  reader.refuse("function_call", "deprecated; 'tool_calls' are read");
}

Outcome<Message> read_message(const Json& value, std::string path) {
  FieldReader reader(value, std::move(path));
  Message message;
  reader.require("role");
  const auto role = reader.word("role", {"system", "developer", "user", "assistant", "tool"});
  message.role = role_of(role.value_or("user"));
  message.content = read_content(reader, message.role);
  message.name = reader.text("name").value_or("");
  if (message.role == Role::assistant) {
    read_assistant_fields(reader, message);
  } else {
    reader.require("content");
  }
  if (message.role == Role::tool) {
    reader.require("tool_call_id");
    message.tool_call_id = reader.text("tool_call_id").value_or("");
  }
  const bool is_empty = !message.content && message.tool_calls.empty() && message.reasoning.empty();
  if (is_empty && reader.ok()) {
    reader.fail(missing_field(reader.path_of("content")));
  }
  ZLLM_TRY(reader.finish());
  return message;
}

}  // namespace

std::vector<Message> read_messages(FieldReader& fields) {
  std::vector<Message> messages;
  fields.require("messages");
  const Json::Array *values = fields.array("messages");
  if (values == nullptr) {
    return messages;
  }
  if (values->empty()) {
    fields.fail("messages", "must have at least one message");
  }
  for (std::size_t i = 0; i < values->size() && fields.ok(); ++i) {
    if (auto message = fields.keep(read_message((*values)[i], element_path("messages", i)))) {
      messages.push_back(std::move(*message));
    }
  }
  return messages;
}

}  // namespace zllm::dialect::chat
