#include <zllm/dialect/format_fields.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <zllm/base/text.h>

namespace zllm::dialect {
namespace {

constexpr std::size_t kMaxGuidedChoices = 1024;  // bounds the pattern that they become
constexpr std::string_view kRegexSigns = "\\.+*?()[]{}^$|";

// Takes the one format that a request may have.
class FormatTaker {
 public:
  FormatTaker(FieldReader& fields, ResponseFormat& format) : fields_(fields), format_(format) {}

  FieldReader& fields() { return fields_; }

  void take(std::string path, ResponseFormat format) {
    if (!path_.empty()) {
      fields_.fail(wrong_value(std::move(path), concat("only one format may be asked for, and ",
                                                       quote(path_), " asks for one")));
      return;
    }
    path_ = std::move(path);
    format_ = std::move(format);
    format_.field = path_;
  }
  void take(std::string path, FormatKind kind, std::string source) {
    take(std::move(path), ResponseFormat{.kind = kind, .source = std::move(source)});
  }

 private:
  FieldReader& fields_;
  ResponseFormat& format_;
  std::string path_;
};

// A schema, given as an object or as its text.
void take_schema(FormatTaker& taker, std::string path, const Json *value) {
  if (value == nullptr) {
    return;
  }
  if (value->as_object() != nullptr) {
    taker.take(std::move(path), FormatKind::json_schema, value->dump());
    return;
  }
  const auto text = taker.fields().keep(read_text(*value, path));
  if (!text) {
    return;
  }
  const auto parsed = Json::parse(*text, "schema");
  if (!parsed.ok() || parsed->as_object() == nullptr) {
    taker.fields().fail(wrong_value(std::move(path), "must be a JSON schema"));
    return;
  }
  taker.take(std::move(path), FormatKind::json_schema, parsed->dump());
}

// Names of rules are set with "::=" in GBNF and with ":" in Lark.
FormatKind grammar_kind(std::string_view grammar) {
  return grammar.find("::=") == std::string_view::npos ? FormatKind::lark : FormatKind::gbnf;
}

void take_choices(FormatTaker& taker, std::string path, const Json::Array *choices) {
  if (choices == nullptr) {
    return;
  }
  if (choices->empty()) {
    taker.fields().fail(wrong_value(std::move(path), "must name at least one choice"));
    return;
  }
  std::string pattern;
  for (std::size_t i = 0; i < choices->size(); ++i) {
    const auto text = taker.fields().keep(read_text((*choices)[i], element_path(path, i)));
    if (!text) {
      return;
    }
    pattern += i == 0 ? "(" : "|";
    for (const char sign : *text) {
      pattern += kRegexSigns.find(sign) == std::string_view::npos ? "" : "\\";
      pattern += sign;
    }
  }
  taker.take(std::move(path), FormatKind::regex, pattern + ")");
}

void read_structured_outputs(FormatTaker& taker, const Json& value) {
  const std::string path = "structured_outputs";
  FieldReader reader(value, path);
  take_schema(taker, reader.path_of("json"), reader.take("json"));
  if (auto pattern = reader.text("regex")) {
    taker.take(reader.path_of("regex"), FormatKind::regex, std::move(*pattern));
  }
  take_choices(taker, reader.path_of("choice"), reader.array("choice", kMaxGuidedChoices));
  if (auto grammar = reader.text("grammar")) {
    const FormatKind kind = grammar_kind(*grammar);
    taker.take(reader.path_of("grammar"), kind, std::move(*grammar));
  }
  if (reader.boolean("json_object").value_or(false)) {
    taker.take(reader.path_of("json_object"), FormatKind::json_object, {});
  }
  (void)taker.fields().keep(reader.finish());
}

void read_response_format(FormatTaker& taker, const Json& value) {
  const std::string path = "response_format";
  FieldReader reader(value, path);
  reader.require("type");
  const auto type = reader.word("type", {"text", "json_object", "json_schema"});
  if (type == "json_schema") {
    reader.require("json_schema");
    if (const Json *schema = reader.take("json_schema")) {
      if (auto format = reader.keep(read_json_schema(*schema, reader.path_of("json_schema")))) {
        taker.take(path, std::move(*format));
      }
    }
  } else if (type == "json_object") {
    const Json *schema = reader.object("schema");
    taker.take(path, schema == nullptr ? FormatKind::json_object : FormatKind::json_schema,
               schema == nullptr ? std::string() : schema->dump());
  }
  (void)taker.fields().keep(reader.finish());
}

}  // namespace

Outcome<ResponseFormat> read_json_schema(const Json& value, std::string path) {
  FieldReader reader(value, std::move(path));
  reader.require("name");
  const auto name = reader.text("name");
  if (name && !is_plain_name(*name)) {
    reader.fail("name", kPlainNameRule);
  }
  reader.text("description");
  // Held to in any case: a schema that is only asked for helps nobody.
  reader.boolean("strict");
  const Json *schema = reader.object("schema");
  ZLLM_TRY(reader.finish());
  return schema == nullptr ? ResponseFormat{.kind = FormatKind::json_object}
                           : ResponseFormat{FormatKind::json_schema, schema->dump()};
}

void read_format(FieldReader& fields, ResponseFormat& format) {
  FormatTaker taker(fields, format);
  if (const Json *value = fields.take("response_format")) {
    read_response_format(taker, *value);
  }
  take_schema(taker, "json_schema", fields.object("json_schema"));
  take_schema(taker, "guided_json", fields.take("guided_json"));
  if (auto grammar = fields.text("grammar")) {
    taker.take("grammar", FormatKind::gbnf, std::move(*grammar));
  }
  if (auto pattern = fields.text("guided_regex")) {
    taker.take("guided_regex", FormatKind::regex, std::move(*pattern));
  }
  take_choices(taker, "guided_choice", fields.array("guided_choice", kMaxGuidedChoices));
  if (auto grammar = fields.text("guided_grammar")) {
    const FormatKind kind = grammar_kind(*grammar);
    taker.take("guided_grammar", kind, std::move(*grammar));
  }
  if (const Json *value = fields.take("structured_outputs")) {
    read_structured_outputs(taker, *value);
  }
}

}  // namespace zllm::dialect
