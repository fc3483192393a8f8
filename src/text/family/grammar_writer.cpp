#include <zllm/text/family/grammar_writer.h>

#include <algorithm>

#include <zllm/base/text.h>

namespace zllm::text::family {
namespace {

constexpr std::string_view kSpace = "/[ \\t\\r\\n]{1,4}/";
constexpr std::string_view kAnything = "/(?s:.+)/";
constexpr std::string_view kText = "/(?s:.*)/";  // of a part that may be empty

}  // namespace

std::string lark_string(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

std::string lark_pattern(std::string_view pattern) {
  std::string escaped = "/";
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\' && i + 1 < pattern.size()) {
      escaped += pattern[i];
      escaped += pattern[++i];
    } else {
      escaped += pattern[i] == '/' ? concat("\\/") : std::string(1, pattern[i]);
    }
  }
  return escaped + "/";
}

std::string GrammarWriter::marker(std::string_view text,
                                  const std::vector<std::string_view>& tokens) {
  if (special_.is_special(text)) {
    if (const std::optional<TokenId> id = special_.id_of(text)) {
      return concat("<[", *id, "]>");
    }
    if (!text.starts_with('<') || !text.ends_with('>')) {
      fail(Error{Code::unsupported, concat("no grammar names the token ", quote(text))});
    }
    return std::string(text);
  }
  for (const std::string_view token : tokens) {
    const std::size_t at = text.find(token);
    if (at != std::string_view::npos && token != text && special_.is_special(token)) {
      const std::string_view front = text.substr(0, at);
      const std::string_view back = text.substr(at + token.size());
      return concat(front.empty() ? "" : marker(front, tokens), " ", marker(token), " ",
                    back.empty() ? "" : marker(back, tokens));
    }
  }
  return lark_string(text);
}

std::string GrammarWriter::space() { return concat("(", kSpace, ")?"); }

std::string GrammarWriter::define(std::string_view expression) {
  std::string name = concat("r", count_++);
  rules_ += concat(name, ": ", expression, "\n");
  return name;
}

Result<Json> GrammarWriter::schema_of(const Tool& tool) const {
  if (tool.parameters.empty()) {
    return Json(Json::Object{{"type", Json(std::string("object"))}});
  }
  Result<Json> schema = Json::parse(tool.parameters, concat("the tool ", quote(tool.name)));
  if (!schema.ok()) {
    return Error{Code::invalid_argument, schema.error().message};
  }
  if (schema->as_object() == nullptr) {
    return Error{Code::invalid_argument,
                 concat("the tool ", quote(tool.name), " has parameters that are no schema")};
  }
  return schema;
}

std::string GrammarWriter::arguments(const Tool& tool) {
  const Result<Json> schema = schema_of(tool);
  if (!schema.ok()) {
    fail(schema.error());
    return "\"\"";
  }
  return define(concat("%json ", schema->dump()));
}

std::string GrammarWriter::value(const Json& arguments_schema, const Json& schema) {
  Json::Object whole;
  for (const std::string_view key : {"x-guidance", "$defs", "definitions"}) {
    const Json *part = arguments_schema.find(key);
    if (part != nullptr && schema.find(key) == nullptr) {
      whole.emplace_back(key, *part);
    }
  }
  if (const Json::Object *members = schema.as_object()) {
    whole.insert(whole.end(), members->begin(), members->end());
  }
  return define(concat("%json ", Json(std::move(whole)).dump()));
}

std::string GrammarWriter::text_until(std::string_view end,
                                      const std::vector<std::string_view>& tokens,
                                      const TextRule& rule) {
  const bool has_special =
      is_special(end) || std::any_of(tokens.begin(), tokens.end(), [&](std::string_view token) {
        return end.find(token) != std::string_view::npos && is_special(token);
      });
  if (has_special) {
    std::string text(kAnything);
    if (!rule.content.empty()) {
      text = concat("T", count_++);
      rules_ += concat(text, ": ", rule.content, "\n");
    }
    return concat(text, rule.may_be_empty ? "? " : " ", marker(end, tokens));
  }
  std::string name = concat("r", count_++);
  std::string text(kText);
  if (!rule.content.empty()) {
    text = concat("T", count_++);
    rules_ +=
        concat(text, ": ", rule.content, " & ~(", kText, " ", lark_string(end), " ", kText, ")\n");
  }
  rules_ += concat(name, "[lazy]: ", text, " ", lark_string(end), "\n");
  return name;
}

std::string GrammarWriter::repeat(const std::string& call, const std::string& between) {
  return request_.allows_parallel ? concat(call, " (", between, " ", call, ")*") : call;
}

void GrammarWriter::fail(Error error) {
  if (status_.ok()) {
    status_ = std::move(error);
  }
}

Result<std::string> GrammarWriter::finish(std::string_view trigger, const std::string& calls) {
  const std::string begin = marker(trigger);
  if (request_.rule == CallRule::required) {
    return finish_with(concat(space(), " ", begin, " ", calls));
  }
  if (is_special(trigger)) {
    return finish_with(concat("(", kAnything, ")? (", begin, " ", calls, ")?"));
  }
  rules_ += concat("PLAIN: ", kAnything, " & ~(/(?s:.*)/ ", begin, " /(?s:.*)/)\n");
  return finish_with(concat("\"\" | PLAIN | ", text_until(trigger), " ", calls));
}

Result<std::string> GrammarWriter::finish_bare(const std::string& calls,
                                               std::string_view first_character) {
  if (request_.rule == CallRule::required) {
    return finish_with(concat(space(), " ", calls));
  }
  return finish_with(concat("\"\" | /[ \\t\\r\\n]*[^ \\t\\r\\n\\", first_character, "](?s:.*)/ | ",
                            space(), " ", calls));
}

Result<std::string> GrammarWriter::finish_with(const std::string& start) {
  if (request_.tools.empty() || request_.rule == CallRule::none) {
    return Error{Code::invalid_argument, "a grammar of calls needs tools that may be called"};
  }
  for (const Tool& tool : request_.tools) {
    if (tool.name.empty()) {
      return Error{Code::invalid_argument, "a tool has no name"};
    }
  }
  ZLLM_TRY(status_);
  return concat("start: ", start, "\n", rules_);
}

}  // namespace zllm::text::family
