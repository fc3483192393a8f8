#include <zllm/dialect/responses/input_items.h>

#include <string_view>
#include <utility>

#include <zllm/base/text.h>
#include <zllm/dialect/json_writer.h>
#include <zllm/dialect/responses/conversation_builder.h>
#include <zllm/dialect/responses/custom_tool.h>
#include <zllm/dialect/responses/packed_reasoning.h>

namespace zllm::dialect::responses {
namespace {

constexpr std::string_view kPartJoint = "\n";  // between texts of one message

Role role_of(std::string_view word) {
  if (word == "system") {
    return Role::system;
  }
  if (word == "developer") {
    return Role::developer;
  }
  return word == "assistant" ? Role::assistant : Role::user;
}

// One part of text, whose type is one of those that the place takes.
Outcome<std::string> read_part(const Json& value, const std::string& path,
                               std::initializer_list<std::string_view> types) {
  FieldReader part(value, path);
  part.require("type");
  const std::string type = part.text("type").value_or("");
  bool is_taken = false;
  for (const std::string_view known : types) {
    is_taken = is_taken || type == known;
  }
  if (part.ok() && !is_taken) {
    return unsupported_field(part.path_of("type"),
                             concat("parts of type ", quote(type), " are not read here"));
  }
  const std::string_view field = type == "refusal" ? "refusal" : "text";
  part.require(field);
  std::string text = part.text(field).value_or("");
  if (type == "input_text") {
    part.object("prompt_cache_breakpoint");  // every prefix is cached anyway
  }
  if (type == "output_text") {
    part.array("annotations");  // of an earlier answer that comes back; no model sees them
    part.array("logprobs");
  }
  ZLLM_TRY(part.finish());
  return text;
}

Outcome<std::string> read_parts(const Json::Array& parts, const std::string& path,
                                std::initializer_list<std::string_view> types) {
  std::string joined;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    ZLLM_TRY(const std::string text, read_part(parts[i], element_path(path, i), types));
    joined += i == 0 ? "" : kPartJoint;
    joined += text;
  }
  return joined;
}

// A string or parts.
std::string read_content(FieldReader& item, std::string_view name,
                         std::initializer_list<std::string_view> types) {
  item.require(name);
  const Json *value = item.take(name);
  if (value == nullptr) {
    return {};
  }
  if (const std::string *text = value->as_string(); text != nullptr) {
    return *text;
  }
  if (value->as_array() == nullptr) {
    item.fail(wrong_type(item.path_of(name), "a string or an array of parts", *value));
    return {};
  }
  return item.keep(read_parts(*value->as_array(), item.path_of(name), types)).value_or("");
}

void read_caller(FieldReader& item) {
  if (const Json *caller = item.object("caller"); caller != nullptr) {
    FieldReader reader(*caller, item.path_of("caller"));
    reader.word("type", {"direct"});
    item.keep(reader.finish());
  }
}

// The text of "encrypted_content".
std::string read_packed(FieldReader& item) {
  const auto packed = item.text("encrypted_content");
  if (!packed.has_value()) {
    return {};
  }
  auto text = unpack_reasoning(*packed);
  if (!text.has_value()) {
    Failure failure = wrong_value(item.path_of("encrypted_content"),
                                  "it was not made here, so it cannot be read");
    failure.code = "invalid_encrypted_content";
    item.fail(std::move(failure));
  }
  return std::move(text).value_or("");
}

class ItemReader {
 public:
  ItemReader(std::vector<Message> before, const std::string& id_suffix, const ItemLookup& find_item)
      : builder_(std::move(before)), id_suffix_(id_suffix), find_item_(&find_item) {}

  void add_user_text(const std::string& text) {
    builder_.add_message(Role::user, text);
    JsonWriter json;
    json.begin_object().text("id", next_id("msg_")).text("type", "message");
    json.text("status", "completed").text("role", "user").begin_array("content");
    write_part(json, "input_text", text);
    items_.push_back(std::move(json.end_array().end_object()).str());
  }

  Outcome<Done> read(const Json& value, const std::string& path) {
    FieldReader item(value, path);
    const bool is_plain = !item.has("type") && item.has("role");
    if (!is_plain) {
      item.require("type");
    }
    const std::string type = item.text("type").value_or("message");
    if (!item.ok()) {
      return item.finish();
    }
    if (type == "item_reference") {
      return read_reference(item);
    }
    const std::string id = item.text("id").value_or("");
    item.word("status", {"in_progress", "completed", "incomplete"});
    if (type == "message") {
      return read_message(item, value, id);
    }
    if (type == "reasoning") {
      return read_reasoning(item, value, id);
    }
    if (type == "function_call" || type == "custom_tool_call") {
      return read_call(item, value, type == "custom_tool_call", id);
    }
    if (type == "function_call_output") {
      return read_result(item, value, "fco_", id);
    }
    if (type == "custom_tool_call_output") {
      return read_result(item, value, "ctco_", id);
    }
    return unsupported_field(item.path_of("type"),
                             concat("items of type ", quote(type), " are not read here"));
  }

  Input take() { return {builder_.take(), std::move(items_)}; }

 private:
  Outcome<Done> read_reference(FieldReader& item) {
    item.require("id");
    const std::string id = item.text("id").value_or("");
    ZLLM_TRY(item.finish());
    const std::optional<Json> found = (*find_item_)(id);
    if (!found.has_value()) {
      return Failure(FailureKind::not_found, concat("No stored item has the id ", quote(id), "."),
                     item.path_of("id"), "item_not_found");
    }
    return read(*found, item.path());
  }

  Outcome<Done> read_message(FieldReader& item, const Json& value, const std::string& id) {
    item.require("role");
    const std::string role(
        item.word("role", {"user", "assistant", "system", "developer"}).value_or("user"));
    const bool is_assistant = role == "assistant";
    std::string text = is_assistant ? read_content(item, "content", {"output_text", "refusal"})
                                    : read_content(item, "content", {"input_text"});
    if (is_assistant) {
      item.word("phase", {"commentary", "final_answer"});
    }
    ZLLM_TRY(item.finish());
    JsonWriter json = begin_item("msg_", id, "message");
    json.text("status", "completed").text("role", role);
    const Json& content = *value.find("content");
    if (content.as_string() == nullptr) {
      json.raw("content", content.dump());
    } else {
      json.begin_array("content");
      write_part(json, is_assistant ? "output_text" : "input_text", text);
      json.end_array();
    }
    items_.push_back(std::move(json.end_object()).str());
    builder_.add_message(role_of(role), std::move(text));
    return Done{};
  }

  Outcome<Done> read_reasoning(FieldReader& item, const Json& value, const std::string& id) {
    const Json::Array *summary = item.array("summary");
    const Json::Array *content = item.array("content");
    std::string text = read_packed(item);
    if (content != nullptr && !content->empty()) {
      text = item.keep(read_parts(*content, item.path_of("content"), {"reasoning_text", "text"}))
                 .value_or("");
    } else if (text.empty() && summary != nullptr) {
      text =
          item.keep(read_parts(*summary, item.path_of("summary"), {"summary_text"})).value_or("");
    }
    ZLLM_TRY(item.finish());
    keep_item("rs_", id, value);
    builder_.add_reasoning(std::move(text));
    return Done{};
  }

  Outcome<Done> read_call(FieldReader& item, const Json& value, bool is_custom,
                          const std::string& id) {
    const std::string_view text_field = is_custom ? "input" : "arguments";
    for (const std::string_view name :
         {std::string_view("call_id"), std::string_view("name"), text_field}) {
      item.require(name);
    }
    read_caller(item);
    ToolCall call;
    call.id = item.text("call_id").value_or("");
    call.name = item.text("name").value_or("");
    std::string text = item.text(text_field).value_or("");
    ZLLM_TRY(item.finish());
    call.arguments = is_custom ? custom_arguments(text) : std::move(text);
    keep_item(is_custom ? "ctc_" : "fc_", id, value);
    builder_.add_call(std::move(call));
    return Done{};
  }

  Outcome<Done> read_result(FieldReader& item, const Json& value, std::string_view prefix,
                            const std::string& id) {
    item.require("call_id");
    const std::string call_id = item.text("call_id").value_or("");
    std::string output = read_content(item, "output", {"input_text"});
    read_caller(item);
    ZLLM_TRY(item.finish());
    if (!builder_.add_result(call_id, std::move(output))) {
      return wrong_value(item.path_of("call_id"),
                         concat("no call before it has the id ", quote(call_id)));
    }
    keep_item(prefix, id, value);
    return Done{};
  }

  // The item as it came, with an id and a status.
  void keep_item(std::string_view prefix, const std::string& id, const Json& value) {
    JsonWriter json = begin_item(prefix, id, *value.find("type")->as_string());
    if (value.find("status") == nullptr || value.find("status")->is_null()) {
      json.text("status", "completed");
    }
    for (const auto& [name, member] : *value.as_object()) {
      if (name != "id" && name != "type" && !(name == "status" && member.is_null())) {
        json.raw(name, member.dump());
      }
    }
    items_.push_back(std::move(json.end_object()).str());
  }
  JsonWriter begin_item(std::string_view prefix, const std::string& id, std::string_view type) {
    JsonWriter json;
    json.begin_object().text("id", id.empty() ? next_id(prefix) : id).text("type", type);
    return json;
  }
  static void write_part(JsonWriter& json, std::string_view type, std::string_view text) {
    json.begin_object().text("type", type).text("text", text);
    if (type == "output_text") {
      json.raw("annotations", "[]");
    }
    json.end_object();
  }
  // "in" keeps them apart from the ids of the answer's own items.
  std::string next_id(std::string_view prefix) const {
    return concat(prefix, id_suffix_, "_in", items_.size());
  }

  ConversationBuilder builder_;
  std::string id_suffix_;
  const ItemLookup *find_item_;
  std::vector<std::string> items_;
};

}  // namespace

Input read_input(FieldReader& fields, std::vector<Message> before, const std::string& id_suffix,
                 const ItemLookup& find_item) {
  if (before.empty()) {
    fields.require("input");
  }
  ItemReader reader(std::move(before), id_suffix, find_item);
  const Json *input = fields.take("input");
  if (input == nullptr) {
    return reader.take();
  }
  if (const std::string *text = input->as_string(); text != nullptr) {
    reader.add_user_text(*text);
    return reader.take();
  }
  const Json::Array *items = input->as_array();
  if (items == nullptr) {
    fields.fail(wrong_type(fields.path_of("input"), "a string or an array of items", *input));
    return reader.take();
  }
  if (items->empty()) {
    fields.fail("input", "needs at least one item");
  }
  for (std::size_t i = 0; i < items->size() && fields.ok(); ++i) {
    fields.keep(reader.read((*items)[i], element_path("input", i)));
  }
  return reader.take();
}

}  // namespace zllm::dialect::responses
