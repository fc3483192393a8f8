#include "told.h"

#include <algorithm>
#include <initializer_list>

namespace zllm::test {
namespace {

const Json *at(const Json& json, std::initializer_list<std::string_view> keys) {
  const Json *found = &json;
  for (const std::string_view key : keys) {
    found = found == nullptr ? nullptr : found->find(key);
  }
  return found;
}

void append(std::string& text, const Json *piece) {
  if (piece != nullptr && piece->as_string() != nullptr) {
    text += *piece->as_string();
  }
}

bool is_type(const Json& json, std::string_view type) {
  const Json *found = json.find("type");
  return found != nullptr && found->as_string() != nullptr && *found->as_string() == type;
}

// Chat and completions, bodies and pieces of streams alike.
void take_choices(Told& told, const Json& json) {
  const Json *choices = json.find("choices");
  if (choices == nullptr || choices->as_array() == nullptr) {
    told.fault = json.dump();
    return;
  }
  for (const Json& item : *choices->as_array()) {
    std::uint64_t index = 0;
    if (item.find("index") == nullptr || !item.find("index")->as_unsigned(index)) {
      told.fault = json.dump();
      return;
    }
    Told::Choice& choice = told.choices[index];
    append(choice.text, item.find("text"));
    append(choice.text, at(item, {"delta", "content"}));
    append(choice.text, at(item, {"message", "content"}));
    append(choice.reason, item.find("finish_reason"));
  }
}

// The content blocks of a message, or of an item of a response.
void take_content(Told::Choice& choice, const Json *content) {
  if (content == nullptr || content->as_array() == nullptr) {
    return;
  }
  for (const Json& block : *content->as_array()) {
    append(choice.text, block.find("text"));
  }
}

void take_response(Told& told, const Json& json) {
  Told::Choice& choice = told.choices[0];
  if (is_type(json, "response.output_text.delta")) {
    append(choice.text, json.find("delta"));
  } else if (is_type(json, "response.completed") || is_type(json, "response.incomplete")) {
    append(choice.reason, at(json, {"response", "status"}));
    told.is_whole = true;
  } else if (is_type(json, "response.failed") || is_type(json, "error")) {
    told.fault = json.dump();
  }
}

void take_message(Told& told, const Json& json) {
  Told::Choice& choice = told.choices[0];
  append(choice.text, at(json, {"delta", "text"}));
  append(choice.reason, at(json, {"delta", "stop_reason"}));
  if (is_type(json, "error")) {
    told.fault = json.dump();
  }
  told.is_whole = told.is_whole || is_type(json, "message_stop");
}

void take_data(Told& told, Dialect dialect, std::string_view data) {
  if (data == "[DONE]") {
    told.is_whole = true;
    return;
  }
  auto json = Json::parse(data, "event");
  if (!json.ok()) {
    told.fault = data;
  } else if (dialect == Dialect::responses) {
    take_response(told, *json);
  } else if (dialect == Dialect::messages) {
    take_message(told, *json);
  } else {
    take_choices(told, *json);
  }
}

}  // namespace

Told read_stream(Dialect dialect, std::string_view text) {
  constexpr std::string_view kData = "data: ";
  Told told;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.starts_with(kData)) {
      take_data(told, dialect, line.substr(kData.size()));
    }
  }
  return told;
}

Told read_body(Dialect dialect, std::string_view text) {
  Told told{.choices = {}, .is_whole = true, .fault = {}};
  auto json = Json::parse(text, "body");
  if (!json.ok()) {
    told.fault = text;
  } else if (dialect == Dialect::responses) {
    const Json *output = json->find("output");
    append(told.choices[0].reason, json->find("status"));
    if (output != nullptr && output->as_array() != nullptr) {
      for (const Json& item : *output->as_array()) {
        take_content(told.choices[0], item.find("content"));
      }
    }
  } else if (dialect == Dialect::messages) {
    take_content(told.choices[0], json->find("content"));
    append(told.choices[0].reason, json->find("stop_reason"));
  } else {
    take_choices(told, *json);
  }
  return told;
}

}  // namespace zllm::test
