#include <zllm/text/family/markup_grammar.h>

#include <algorithm>

#include <zllm/base/text.h>
#include <zllm/text/family/value_type.h>

namespace zllm::text::family {
namespace {

bool is_required(const Json& schema, std::string_view key) {
  const Json *required = schema.find("required");
  return required != nullptr && required->as_array() != nullptr &&
         std::any_of(required->as_array()->begin(), required->as_array()->end(),
                     [&](const Json& one) {
                       return one.as_string() != nullptr && *one.as_string() == key;
                     });
}

// The texts that an enumeration of strings leaves; none for others.
std::vector<std::string> choices_of(const Json& member) {
  std::vector<std::string> out;
  const Json *values = member.find("enum");
  if (values == nullptr || values->as_array() == nullptr) {
    return {};
  }
  for (const Json& value : *values->as_array()) {
    if (value.as_string() == nullptr) {
      return {};
    }
    out.push_back(*value.as_string());
  }
  return out;
}

std::string string_value(GrammarWriter& writer, const Json& member, const MarkupCallForm& form) {
  const std::vector<std::string> choices = choices_of(member);
  if (choices.empty()) {
    return writer.text_until(form.value_end, form.tokens);
  }
  std::string out;
  for (const std::string& choice : choices) {
    out += out.empty() ? "" : " | ";
    out += lark_string(choice);
  }
  return concat("(", out, ") ", writer.marker(form.value_end, form.tokens));
}

}  // namespace

std::string markup_call(GrammarWriter& writer, const Tool& tool, const MarkupCallForm& form) {
  const Result<Json> schema = writer.schema_of(tool);
  if (!schema.ok()) {
    writer.fail(schema.error());
    return "\"\"";
  }
  const auto marker = [&](std::string_view text) {
    return text.empty() ? std::string() : writer.marker(text, form.tokens);
  };
  std::string out = concat(marker(form.call_begin), " ", lark_string(tool.name), " ",
                           marker(form.name_end), " ", writer.space());
  const Json *members = schema->find("properties");
  if (members != nullptr && members->as_object() != nullptr) {
    for (const auto& [key, member] : *members->as_object()) {
      const bool is_text = (argument_types(*schema, key) & kStringType) != 0;
      std::string one = concat(marker(form.key_begin), " ", lark_string(key), " ",
                               marker(is_text ? form.string_begin : form.value_begin), " ");
      one += is_text ? string_value(writer, member, form)
                     : concat(writer.value(*schema, member), " ", marker(form.value_end));
      const std::string rule = writer.define(concat("(", one, " ", writer.space(), ")"));
      out += concat(" ", rule, is_required(*schema, key) ? "" : "?");
    }
  } else {
    const std::string any = writer.define(
        concat("(", marker(form.key_begin), " /[A-Za-z0-9_.-]+/ ", marker(form.string_begin), " ",
               writer.text_until(form.value_end, form.tokens), " ", writer.space(), ")"));
    out += concat(" ", any, "*");
  }
  return concat(out, " ", marker(form.call_end));
}

}  // namespace zllm::text::family
