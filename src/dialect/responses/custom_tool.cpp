#include <zllm/dialect/responses/custom_tool.h>

#include <utility>

#include <zllm/base/text.h>
#include <zllm/dialect/json_writer.h>
#include <zllm/text/fence/lark_pattern.h>

namespace zllm::dialect::responses {
namespace {

constexpr std::string_view kMember = "input";
constexpr std::string_view kPlainFormat = R"({"type":"text"})";
constexpr std::size_t kQuotesBefore = 3;  // two of the member's name, one of its value

// Of JSON.
constexpr std::size_t kShortEscape = 2;  // \n
constexpr std::size_t kLongEscape = 6;   // \u0041
constexpr std::size_t kPairEscape = 12;  // two of them: beyond U+FFFF

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // of what is no character

// A schema's pattern may match a part; a custom tool's matches all of the input.
std::string whole_pattern(std::string_view pattern) {
  if (pattern.starts_with('^')) {
    pattern.remove_prefix(1);
  }
  if (pattern.ends_with('$') && !pattern.ends_with("\\$")) {
    pattern.remove_suffix(1);
  }
  return concat("^(?:", pattern, ")$");
}

// Inputs are written within the form of calls of each model, mostly as JSON strings: only what is
// one pattern can be held to there, in each form.
std::string read_lark(FieldReader& format, std::string_view definition) {
  const auto pattern = text::lark_pattern(definition);
  if (!pattern.ok()) {
    format.fail(unsupported_field(format.path_of("definition"), pattern.error().message));
    return {};
  }
  return *pattern;
}

std::size_t escape_length(std::string_view begun) {
  if (begun.size() < kShortEscape || begun[1] != 'u') {
    return kShortEscape;
  }
  constexpr std::string_view kPairSigns = "89abAB";  // of \ud8.. to \udb..
  const bool is_pair = begun.size() >= kLongEscape && (begun[2] == 'd' || begun[2] == 'D') &&
                       kPairSigns.find(begun[3]) != std::string_view::npos;
  return is_pair ? kPairEscape : kLongEscape;
}

}  // namespace

CustomTools custom_tools(const Json& body) {
  CustomTools custom;
  const Json *tools = body.find("tools");
  if (tools == nullptr || tools->as_array() == nullptr) {
    return custom;
  }
  for (const Json& tool : *tools->as_array()) {
    const Json *type = tool.find("type");
    const Json *name = tool.find("name");
    if (type == nullptr || type->as_string() == nullptr || *type->as_string() != "custom" ||
        name == nullptr || name->as_string() == nullptr) {
      continue;
    }
    const Json *format = tool.find("format");
    const bool is_plain = format == nullptr || format->is_null();
    custom.emplace(*name->as_string(), is_plain ? std::string(kPlainFormat) : format->dump());
  }
  return custom;
}

std::string read_custom_format(FieldReader& tool) {
  std::string pattern;
  if (const Json *value = tool.object("format"); value != nullptr) {
    FieldReader format(*value, tool.path_of("format"));
    format.require("type");
    if (format.word("type", {"text", "grammar"}) == "grammar") {
      format.require("syntax");
      format.require("definition");
      const bool is_lark = format.word("syntax", {"lark", "regex"}) == "lark";
      const std::string definition = format.text("definition").value_or("");
      pattern = whole_pattern(is_lark && format.ok() ? read_lark(format, definition) : definition);
    }
    tool.keep(format.finish());
  }
  JsonWriter json;
  json.begin_object().text("type", "object").begin_object("properties").begin_object(kMember);
  json.text("type", "string").text("description", "The whole input, as plain text.");
  if (!pattern.empty()) {
    json.text("pattern", pattern);
  }
  json.end_object().end_object().begin_array("required").text(kMember).end_array();
  return std::move(json.boolean("additionalProperties", false).end_object()).str();
}

// Spelled as a grammar of calls has it.
std::string custom_arguments(std::string_view input) {
  std::string text;
  append_json_string(text, input);
  return concat("{\"", kMember, "\": ", text, "}");
}

std::string CustomInput::add(std::string_view arguments) {
  std::string input;
  for (const char next : arguments) {
    add(next, input);
  }
  return input;
}

void CustomInput::add(char next, std::string& input) {
  if (quotes_ < kQuotesBefore) {
    quotes_ += next == '"' ? 1 : 0;
    return;
  }
  if (is_complete_) {
    return;
  }
  if (escape_.size() == kLongEscape && next != '\\') {
    escape_.clear();  // half of a pair
    input += kReplacement;
  }
  if (escape_.empty() && next == '"') {
    is_complete_ = true;
  } else if (escape_.empty() && next != '\\') {
    input += next;
  } else {
    escape_ += next;
    if (escape_.size() == escape_length(escape_)) {
      const auto text = Json::parse(concat("\"", std::exchange(escape_, {}), "\""), "escape");
      input += text.ok() && text->as_string() != nullptr ? *text->as_string() : kReplacement;
    }
  }
}

}  // namespace zllm::dialect::responses
