#include <zllm/dialect/anthropic/conversation.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include <zllm/base/text.h>

namespace zllm::dialect::anthropic {
namespace {

constexpr std::string_view kUserJoint = "\n";  // between text blocks that a client wrote

void append_text(std::optional<std::string>& whole, const std::string& part,
                 std::string_view joint) {
  if (!whole.has_value()) {
    whole = part;
  } else {
    whole->append(joint).append(part);
  }
}

std::string dotted(std::string_view array, std::size_t index) { return concat(array, ".", index); }

// As the engine knows it.
std::string call_id(const std::string& id) {
  return id.size() > kCallPrefix.size() && id.starts_with(kCallPrefix)
             ? id.substr(kCallPrefix.size())
             : id;
}

Outcome<std::string> read_text_block(FieldReader& block) {
  block.require("text");
  std::string text = block.text("text").value_or("");
  read_cache_control(block);
  const Json::Array *citations = block.array("citations");
  if (citations != nullptr && !citations->empty()) {
    block.fail(unsupported_field(block.path_of("citations"), "there are no documents to cite"));
  }
  ZLLM_TRY(block.finish());
  return text;
}

// The API refuses texts that say nothing.
Outcome<Done> check_text(const std::string& text, const std::string& path) {
  if (text.find_first_not_of(kWhitespace) == std::string::npos) {
    return wrong_value(path, "text content must be non-empty and not only whitespace");
  }
  return Done{};
}

Failure unsupported_block(const FieldReader& block, const std::string& type,
                          std::string_view place) {
  return unsupported_field(block.path_of("type"),
                           concat("blocks of type ", quote(type), " are not taken ", place));
}

// A string, or blocks of text alone.
Outcome<std::string> read_plain_content(const Json& value, const std::string& path,
                                        std::string_view place) {
  if (const std::string *text = value.as_string(); text != nullptr) {
    return *text;
  }
  const Json::Array *blocks = value.as_array();
  if (blocks == nullptr) {
    return wrong_type(path, "a string or an array of blocks", value);
  }
  std::optional<std::string> whole;
  for (std::size_t i = 0; i < blocks->size(); ++i) {
    FieldReader block((*blocks)[i], dotted(path, i));
    block.require("type");
    const std::string type = block.text("type").value_or("text");
    if (block.ok() && type != "text") {
      return unsupported_block(block, type, place);
    }
    ZLLM_TRY(const std::string text, read_text_block(block));
    append_text(whole, text, kUserJoint);
  }
  return whole.value_or("");
}

class TurnReader {
 public:
  Outcome<Done> read(const Json& message, const std::string& path) {
    FieldReader fields(message, path);
    fields.require("role");
    fields.require("content");
    const auto role = fields.word("role", {"user", "assistant", "system"});
    const Json *content = fields.take("content");
    ZLLM_TRY(fields.finish());
    const std::string place = fields.path_of("content");
    if (*role != "user") {
      ZLLM_TRY(check_results());
    }
    if (*role == "system") {
      if (turns_.empty()) {
        return unsupported_field(fields.path_of("role"),
                                 "a system message cannot be the first; use 'system'");
      }
      ZLLM_TRY(std::string text, read_plain_content(*content, place, "in a system message"));
      turns_.push_back({.role = Role::system, .content = std::move(text)});
      return Done{};
    }
    const bool is_user = *role == "user";
    if (const std::string *text = content->as_string(); text != nullptr) {
      if (is_user) {
        ZLLM_TRY(check_text(*text, place));
      }
      is_user ? add_user_text(*text) : add_assistant_text(*text);
      return Done{};
    }
    const Json::Array *blocks = content->as_array();
    if (blocks == nullptr) {
      return wrong_type(place, "a string or an array of blocks", *content);
    }
    if (blocks->empty()) {
      return wrong_value(place, "needs at least one block");
    }
    return is_user ? read_user(*blocks, place) : read_assistant(*blocks, place);
  }

  // Whether every call has its result where users have had their turn.
  Outcome<Done> check_results() const {
    if (open_calls_.empty() || turns_.back().role == Role::assistant) {
      return Done{};
    }
    return wrong_value(
        calls_path_, concat("the tool_use block with the id ", quote(open_calls_.front().given_id),
                            " has no tool_result block in the next message"));
  }

  std::vector<Message> take() { return std::move(turns_); }

 private:
  Outcome<Done> read_user(const Json::Array& blocks, const std::string& path) {
    std::optional<std::string> text;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      FieldReader block(blocks[i], dotted(path, i));
      block.require("type");
      const std::string type = block.text("type").value_or("text");
      if (!block.ok()) {
        return block.finish();
      }
      if (type == "text") {
        ZLLM_TRY(const std::string part, read_text_block(block));
        ZLLM_TRY(check_text(part, block.path_of("text")));
        append_text(text, part, kUserJoint);
      } else if (type == "tool_result") {
        ZLLM_TRY(read_result(block));
      } else {
        return unsupported_block(block, type, "of a user");
      }
    }
    if (text.has_value()) {
      add_user_text(*text);
    }
    return Done{};
  }

  Outcome<Done> read_result(FieldReader& block) {
    block.require("tool_use_id");
    const std::string given_id = block.text("tool_use_id").value_or("");
    const Json *content = block.take("content");
    const bool is_error = block.boolean("is_error").value_or(false);
    read_cache_control(block);
    ZLLM_TRY(block.finish());
    const auto call = std::ranges::find(open_calls_, call_id(given_id), &OpenCall::id);
    if (call == open_calls_.end()) {
      return wrong_value(block.path_of("tool_use_id"),
                         concat("no tool_use block of the message before has the id ",
                                quote(given_id), " and no result yet"));
    }
    Message turn{.role = Role::tool, .content = "", .tool_call_id = call->id, .name = call->name};
    open_calls_.erase(call);
    if (content != nullptr) {
      ZLLM_TRY(turn.content,
               read_plain_content(*content, block.path_of("content"), "in a tool_result"));
    }
    if (is_error) {
      // Templates know no failed call: the model has to read it.
      turn.content->insert(0, "Error: ");
    }
    turns_.push_back(std::move(turn));
    return Done{};
  }

  Outcome<Done> read_assistant(const Json::Array& blocks, const std::string& path) {
    Message& turn = assistant_turn();
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      FieldReader block(blocks[i], dotted(path, i));
      block.require("type");
      const std::string type = block.text("type").value_or("text");
      if (!block.ok()) {
        return block.finish();
      }
      if (type == "text") {
        ZLLM_TRY(const std::string part, read_text_block(block));
        append_text(turn.content, part, "");
      } else if (type == "thinking") {
        block.require("thinking");
        turn.reasoning += block.text("thinking").value_or("");
        static_cast<void>(block.text("signature"));
        ZLLM_TRY(block.finish());
      } else if (type == "redacted_thinking") {
        // Of another model: nobody here can read it.
        block.require("data");
        static_cast<void>(block.text("data"));
        ZLLM_TRY(block.finish());
      } else if (type == "tool_use") {
        ZLLM_TRY(read_call(block, turn));
      } else {
        return unsupported_block(block, type, "of an assistant");
      }
    }
    return Done{};
  }

  Outcome<Done> read_call(FieldReader& block, Message& turn) {
    block.require("id");
    block.require("name");
    block.require("input");
    const std::string given_id = block.text("id").value_or("");
    const std::string id = call_id(given_id);
    const std::string name = block.text("name").value_or("");
    const Json *input = block.object("input");
    read_cache_control(block);
    if (const Json *caller = block.object("caller"); caller != nullptr) {
      FieldReader fields(*caller, block.path_of("caller"));
      fields.word("type", {"direct"});
      block.keep(fields.finish());
    }
    ZLLM_TRY(block.finish());
    if (id.empty() || name.empty()) {
      return wrong_value(block.path_of(id.empty() ? "id" : "name"), "is empty");
    }
    if (!call_ids_.insert(id).second) {
      return wrong_value(block.path_of("id"), "another tool_use block has the same");
    }
    calls_path_ = block.path();
    open_calls_.push_back({id, given_id, name});
    turn.tool_calls.push_back({id, name, input->dump()});
    return Done{};
  }

  void add_user_text(const std::string& text) {
    if (turns_.empty() || turns_.back().role != Role::user) {
      turns_.push_back({.role = Role::user});
    }
    append_text(turns_.back().content, text, kUserJoint);
  }
  void add_assistant_text(const std::string& text) {
    append_text(assistant_turn().content, text, "");
  }
  Message& assistant_turn() {
    if (turns_.empty() || turns_.back().role != Role::assistant) {
      turns_.push_back({.role = Role::assistant});
    }
    return turns_.back();
  }

  // A call without a result so far.
  struct OpenCall {
    std::string id;  // the engine's
    std::string given_id;
    std::string name;  // of the tool
  };

  std::vector<Message> turns_;
  std::unordered_set<std::string> call_ids_;
  std::vector<OpenCall> open_calls_;
  std::string calls_path_;  // of the last call
};

}  // namespace

void read_cache_control(FieldReader& fields) {
  const Json *value = fields.object("cache_control");
  if (value == nullptr) {
    return;
  }
  FieldReader control(*value, fields.path_of("cache_control"));
  control.require("type");
  control.word("type", {"ephemeral"});
  control.word("ttl", {"5m", "1h"});
  fields.keep(control.finish());
}

std::vector<Message> read_turns(FieldReader& fields) {
  std::vector<Message> turns;
  if (const Json *system = fields.take("system"); system != nullptr) {
    auto text = fields.keep(read_plain_content(*system, fields.path_of("system"), "in a system"));
    turns.push_back({.role = Role::system, .content = std::move(text)});
  }
  fields.require("messages");
  const Json::Array *messages = fields.array("messages");
  if (messages == nullptr) {
    return turns;
  }
  if (messages->empty()) {
    fields.fail("messages", "needs at least one message");
  }
  TurnReader reader;
  for (std::size_t i = 0; i < messages->size() && fields.ok(); ++i) {
    fields.keep(reader.read((*messages)[i], dotted(fields.path_of("messages"), i)));
  }
  if (fields.ok() && !messages->empty()) {
    fields.keep(reader.check_results());
  }
  for (Message& turn : reader.take()) {
    turns.push_back(std::move(turn));
  }
  return turns;
}

}  // namespace zllm::dialect::anthropic
