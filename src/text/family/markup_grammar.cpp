#include <zllm/text/family/markup_grammar.h>

#include <algorithm>
#include <array>

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

// The texts that a constant or an enumeration of strings leaves; none for others.
std::vector<std::string> choices_of(const Json& member) {
  if (const Json *constant = member.find("const")) {
    return constant->as_string() != nullptr ? std::vector{*constant->as_string()}
                                            : std::vector<std::string>();
  }
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

// A JSON schema's pattern, which is found anywhere, as one of the whole text.
std::string whole_pattern(std::string_view pattern) {
  const bool has_begin = pattern.starts_with('^');
  const bool has_end = pattern.ends_with('$') && !pattern.ends_with("\\$");
  pattern = pattern.substr(has_begin ? 1 : 0);
  pattern = pattern.substr(0, pattern.size() - (has_end ? 1 : 0));
  return concat(has_begin ? "" : "(?s:.*)", "(", pattern, ")", has_end ? "" : "(?s:.*)");
}

// What length and pattern leave of a string's text.
TextRule text_rule(const Json& member) {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
  const Json *minimum = member.find("minLength");
  const Json *maximum = member.find("maxLength");
  const bool has_least = minimum != nullptr && minimum->as_unsigned(least) && least > 0;
  const bool has_most = maximum != nullptr && maximum->as_unsigned(most);
  TextRule rule{.content = {}, .may_be_empty = !has_least};
  if (has_least || has_most) {
    rule.content =
        concat("/(?s:.{", to_text(least), ",", has_most ? to_text(most) : std::string(), "})/");
  }
  const Json *pattern = member.find("pattern");
  if (pattern != nullptr && pattern->as_string() != nullptr) {
    rule.content += concat(rule.content.empty() ? "" : " & ",
                           lark_pattern(whole_pattern(*pattern->as_string())));
    rule.may_be_empty = false;
  }
  return rule;
}

std::string string_value(GrammarWriter& writer, const Json& member, bool is_only_text,
                         const MarkupCallForm& form) {
  const std::vector<std::string> choices = choices_of(member);
  if (choices.empty()) {
    return writer.text_until(form.value_end, form.tokens,
                             is_only_text ? text_rule(member) : TextRule());
  }
  std::string out;
  for (const std::string& choice : choices) {
    out += out.empty() ? "" : " | ";
    out += lark_string(choice);
  }
  return concat("(", out, ") ", writer.marker(form.value_end, form.tokens));
}

// Markup has no place for what these ask of arguments as a whole.
Status check_enforceable(const Tool& tool, const Json& schema) {
  for (const std::string_view key : {"allOf", "anyOf", "const", "enum", "maxProperties",
                                     "minProperties", "oneOf", "patternProperties"}) {
    if (tool.is_strict && schema.find(key) != nullptr) {
      return Error{Code::unsupported,
                   concat("the tool ", quote(tool.name), " is strict, but ", quote(key),
                          " of all its arguments is not enforced in this model's form of calls")};
    }
  }
  return {};
}

Error not_enforced(const Tool& tool, std::string_view keyword, std::string_view argument) {
  return Error{Code::unsupported, concat("the tool ", quote(tool.name), " is strict, but ",
                                         quote(keyword), " of its argument ", quote(argument),
                                         " is not enforced in this model's form of calls")};
}

// Of an argument that may be a string, whose text says its type: only what holds for the text as a
// whole can be told from it.
Status check_text_argument(const Tool& tool, std::string_view name, const Json& member,
                           bool is_only_text) {
  constexpr auto kOfStrings =
      std::to_array<std::string_view>({"const", "enum", "maxLength", "minLength", "pattern"});
  constexpr auto kFree =
      std::to_array<std::string_view>({"$defs", "definitions", "type", "x-guidance"});
  const auto is_one_of = [](std::string_view key, const auto& keys) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  };
  const Json::Object *members = member.as_object();
  if (!tool.is_strict || members == nullptr) {
    return {};
  }
  const bool has_choices = !choices_of(member).empty();
  const auto is_free = [&](const Json& choice) {
    const Json::Object *said = choice.as_object();
    return said != nullptr && std::all_of(said->begin(), said->end(), [&](const Json::Member& one) {
             return is_one_of(one.first, kFree);
           });
  };
  for (const auto& [key, value] : *members) {
    const bool is_choice = key == "const" || key == "enum";
    const bool is_enforced =
        is_one_of(key, kFree) ||
        (key == "anyOf" && value.as_array() != nullptr &&
         std::all_of(value.as_array()->begin(), value.as_array()->end(), is_free)) ||
        (has_choices && (is_choice || key == "type")) ||
        (!has_choices && is_only_text && !is_choice && is_one_of(key, kOfStrings));
    if (!is_enforced) {
      return not_enforced(tool, key, name);
    }
  }
  return {};
}

// Required members that are not among the properties.
std::vector<std::string> undescribed(const Json& schema) {
  std::vector<std::string> out;
  const Json *required = schema.find("required");
  const Json *members = schema.find("properties");
  if (required == nullptr || required->as_array() == nullptr) {
    return out;
  }
  for (const Json& key : *required->as_array()) {
    const std::string *name = key.as_string();
    if (name != nullptr && (members == nullptr || members->find(*name) == nullptr)) {
      out.push_back(*name);
    }
  }
  return out;
}

}  // namespace

std::string markup_call(GrammarWriter& writer, const Tool& tool, const MarkupCallForm& form) {
  const Result<Json> parsed = writer.schema_of(tool);
  if (!parsed.ok()) {
    writer.fail(parsed.error());
    return "\"\"";
  }
  const Json& schema = referred_schema(*parsed, *parsed);
  if (Status status = check_enforceable(tool, schema); !status.ok()) {
    writer.fail(std::move(status).error());
    return "\"\"";
  }
  const auto marker = [&](std::string_view text) {
    return text.empty() ? std::string() : writer.marker(text, form.tokens);
  };
  std::string out = concat(marker(form.call_begin), " ", lark_string(tool.name), " ",
                           marker(form.name_end), " ", writer.space());
  const auto add = [&](const std::string& key, const Json& member) {
    const ValueTypes types = argument_types(*parsed, key);
    const bool is_text = (types & kStringType) != 0;
    const Json& target = is_text ? referred_schema(*parsed, member) : member;
    if (is_text) {
      const bool is_beside = &target != &member && member.as_object()->size() > 1;
      Status status = is_beside && tool.is_strict
                          ? not_enforced(tool, "$ref", key)
                          : check_text_argument(tool, key, target, types == kStringType);
      if (!status.ok()) {
        writer.fail(std::move(status).error());
      }
    }
    std::string one = concat(marker(form.key_begin), " ", lark_string(key), " ",
                             marker(is_text ? form.string_begin : form.value_begin), " ");
    one += is_text ? string_value(writer, target, types == kStringType, form)
                   : concat(writer.value(*parsed, member), " ", marker(form.value_end));
    const std::string rule = writer.define(concat("(", one, " ", writer.space(), ")"));
    out += concat(" ", rule, is_required(schema, key) ? "" : "?");
  };
  const Json *members = schema.find("properties");
  const bool has_members = members != nullptr && members->as_object() != nullptr;
  if (has_members) {
    for (const auto& [key, member] : *members->as_object()) {
      add(key, member);
    }
  }
  for (const std::string& key : undescribed(schema)) {
    add(key, Json(Json::Object()));
  }
  const Json *others = schema.find("additionalProperties");
  const bool has_others = others == nullptr || others->as_bool() == nullptr || *others->as_bool();
  if (!has_members && has_others) {
    if (tool.is_strict && others != nullptr && others->as_object() != nullptr &&
        !others->as_object()->empty()) {
      writer.fail(not_enforced(tool, "additionalProperties", "*"));
    }
    const std::string any = writer.define(
        concat("(", marker(form.key_begin), " /[A-Za-z0-9_.-]+/ ", marker(form.string_begin), " ",
               writer.text_until(form.value_end, form.tokens), " ", writer.space(), ")"));
    out += concat(" ", any, "*");
  }
  return concat(out, " ", marker(form.call_end));
}

}  // namespace zllm::text::family
