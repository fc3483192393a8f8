#include <zllm/text/fence/fence_factory.h>

#include <algorithm>

#include <zllm/base/json.h>
#include <zllm/base/text.h>
#include <zllm/edge/grammar.h>
#include <zllm/text/fence/gbnf.h>
#include <zllm/text/fence/grammar_fence-inl.h>
#include <zllm/text/fence/schema_check.h>
#include <zllm/text/fence/source_nesting.h>
#include <zllm/text/fence/thinking_fence.h>

namespace zllm::text {

struct FenceFactory::State {
  std::shared_ptr<const FenceVocabulary> vocabulary;
};

namespace {

edge::TokenTables tables_of(const Tokenizer& tokenizer) {
  edge::TokenTables tables;
  const auto size = static_cast<TokenId>(tokenizer.vocabulary_size());
  for (TokenId id = 0; id < size; ++id) {
    tables.bytes += tokenizer.token_bytes(id);
    tables.ends.push_back(static_cast<std::uint32_t>(tables.bytes.size()));
    tables.flags += static_cast<char>((tokenizer.is_known(id) ? EDGE_TOKEN_KNOWN : 0) |
                                      (tokenizer.is_special(id) ? EDGE_TOKEN_SPECIAL : 0));
  }
  return tables;
}

std::string_view name(ConstraintKind kind) {
  switch (kind) {
    case ConstraintKind::json_schema:
    case ConstraintKind::json_object:
      return "the JSON schema";
    case ConstraintKind::regex:
      return "the regular expression";
    case ConstraintKind::lark:
      return "the Lark grammar";
    case ConstraintKind::gbnf:
      break;
  }
  return "the GBNF grammar";
}

struct Source {
  edge::GrammarKind kind;
  std::string text;
  std::vector<SchemaPattern> patterns = {};
};

Result<Source> source_of(const Constraint& constraint) {
  const std::size_t limit =
      constraint.kind == ConstraintKind::lark ? kMaxLarkBytes : kMaxGrammarBytes;
  if (constraint.source.size() > limit) {
    return Error{Code::invalid_argument,
                 concat(name(constraint.kind), " has ", constraint.source.size(),
                        " bytes, more than ", limit)};
  }
  switch (constraint.kind) {
    case ConstraintKind::json_object: {
      ZLLM_TRY(CheckedSchema schema, check_schema(R"({"type":"object"})"));
      return Source{edge::GrammarKind::json_schema, std::move(schema.text)};
    }
    case ConstraintKind::json_schema: {
      ZLLM_TRY(CheckedSchema schema, check_schema(constraint.source));
      return Source{edge::GrammarKind::json_schema, std::move(schema.text),
                    std::move(schema.patterns)};
    }
    case ConstraintKind::regex:
      ZLLM_TRY(check_regex_nesting(constraint.source));
      ZLLM_TRY(check_whole_pattern(constraint.source));
      return Source{edge::GrammarKind::regex, constraint.source};
    case ConstraintKind::lark:
      ZLLM_TRY(check_lark_nesting(constraint.source));
      return Source{edge::GrammarKind::lark, constraint.source};
    case ConstraintKind::gbnf:
      break;
  }
  ZLLM_TRY(std::string text, gbnf_to_lark(constraint.source));
  return Source{edge::GrammarKind::lark, std::move(text)};
}

constexpr std::size_t kMaxTries = 64;  // of parts of a schema alone

// What the compiler says of a part of the schema alone.
Status compile_part(const FenceVocabulary& vocabulary, const Json& root, const Json& part) {
  if (const bool *allows = part.as_bool()) {
    return *allows ? Status() : Error{Code::invalid_argument, "Unsatisfiable schema: false"};
  }
  Json::Object alone = *part.as_object();
  for (const std::string_view key : {"x-guidance", "$defs", "definitions"}) {
    const Json *shared = root.find(key);
    if (shared != nullptr && part.find(key) == nullptr) {
      alone.emplace_back(key, *shared);
    }
  }
  const Result<edge::Grammar> grammar = edge::Grammar::compile(
      vocabulary.grammar, edge::GrammarKind::json_schema, Json(std::move(alone)).dump());
  return grammar.ok() ? Status() : grammar.error();
}

Status compile_pattern(const FenceVocabulary& vocabulary, const std::string& pattern) {
  const Json alone(Json::Object{{"type", Json(std::string("string"))}, {"pattern", Json(pattern)}});
  return compile_part(vocabulary, alone, alone);
}

// The innermost part that the compiler refuses for the same reason, as a JSON pointer.
std::string refused_part(const FenceVocabulary& vocabulary, const Json& root,
                         const std::string& reason) {
  const auto is_same = [&](const Status& status) {
    constexpr std::string_view kNothing = "nsatisfiable";
    return !status.ok() && (status.error().message == reason ||
                            (reason.find(kNothing) != std::string::npos &&
                             status.error().message.find(kNothing) != std::string::npos));
  };
  std::string pointer;
  std::size_t tries = 0;
  const Json *at = &root;
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (const SchemaPart& part : schema_parts(*at)) {
      if (++tries > kMaxTries) {
        return pointer;
      }
      if (is_same(compile_part(vocabulary, root, *part.schema))) {
        at = part.schema;
        pointer += part.pointer;
        goes_on = true;
        break;
      }
    }
  }
  return pointer;
}

// Why a schema was refused, told of the pattern or the part to blame.
Error blamed(const FenceVocabulary& vocabulary, const Source& source, Error error) {
  for (std::size_t i = 0; i < std::min(source.patterns.size(), kMaxTries); ++i) {
    const SchemaPattern& one = source.patterns[i];
    if (const Status status = compile_pattern(vocabulary, one.pattern); !status.ok()) {
      return Error{error.code,
                   concat("the pattern at ", quote(one.pointer), ": ", status.error().message)};
    }
  }
  const Result<Json> schema = Json::parse(source.text, "the schema");
  if (source.kind != edge::GrammarKind::json_schema || !schema.ok() ||
      error.code != Code::invalid_argument) {
    return error;
  }
  const std::string pointer = refused_part(vocabulary, *schema, error.message);
  return Error{error.code, concat(error.message, ", at ", quote(pointer.empty() ? "/" : pointer))};
}

Result<std::unique_ptr<engine::Fence>> make_answer(
    const std::shared_ptr<const FenceVocabulary>& vocabulary, const Constraint& constraint,
    const Source& source) {
  Result<edge::Grammar> grammar =
      edge::Grammar::compile(vocabulary->grammar, source.kind, source.text);
  if (!grammar.ok()) {
    return blamed(*vocabulary, source, std::move(grammar).error()).within(name(constraint.kind));
  }
  Result<std::unique_ptr<engine::Fence>> fence =
      GrammarFence::create(vocabulary, *std::move(grammar));
  if (!fence.ok()) {
    return std::move(fence).error().within(name(constraint.kind));
  }
  return fence;
}

bool names_object(const Json& type) {
  if (const std::string *name = type.as_string()) {
    return *name == "object";
  }
  return type.as_array() != nullptr &&
         std::any_of(type.as_array()->begin(), type.as_array()->end(), names_object);
}

// The schema, of objects alone.
Result<std::string> object_schema(std::string_view source) {
  ZLLM_TRY(const Json schema, Json::parse(source, "the JSON schema"));
  const Json *type = schema.find("type");
  if (schema.as_object() == nullptr || (type != nullptr && !names_object(*type))) {
    return Error{Code::invalid_argument, "the JSON schema of arguments is not that of an object"};
  }
  Json::Object out = {{"type", Json(std::string("object"))}};
  for (const Json::Member& member : *schema.as_object()) {
    if (member.first != "type") {
      out.push_back(member);
    }
  }
  return Json(std::move(out)).dump();
}

}  // namespace

Result<FenceFactory> FenceFactory::create(const Tokenizer& tokenizer,
                                          std::vector<TokenId> end_tokens) {
  std::erase_if(end_tokens, [&](TokenId id) { return !tokenizer.is_known(id); });
  if (end_tokens.empty()) {
    return Error{Code::invalid_argument, "no token ends an answer of this model"};
  }
  ZLLM_TRY(edge::GrammarVocabulary grammar,
           edge::GrammarVocabulary::create(tables_of(tokenizer), end_tokens.front()));
  std::size_t longest = 0;
  for (std::size_t id = 0; id < tokenizer.vocabulary_size(); ++id) {
    longest = std::max(longest, tokenizer.token_bytes(static_cast<TokenId>(id)).size());
  }
  return FenceFactory(std::make_shared<const State>(State{std::make_shared<const FenceVocabulary>(
      FenceVocabulary{tokenizer, std::move(grammar), std::move(end_tokens), longest})}));
}

Result<std::unique_ptr<engine::Fence>> FenceFactory::make(const FenceSpec& spec) const {
  const std::shared_ptr<const FenceVocabulary>& vocabulary = state_->vocabulary;
  std::unique_ptr<engine::Fence> answer;
  if (spec.constraint) {
    ZLLM_TRY(const Source source, source_of(*spec.constraint));
    ZLLM_TRY(answer, make_answer(vocabulary, *spec.constraint, source));
  }
  const bool may_think = spec.thinking && !spec.thinking->end.empty() &&
                         (spec.thinking->is_open || !spec.thinking->begin.empty());
  if (!may_think || (answer == nullptr && !spec.thinking->budget)) {
    return answer;
  }
  const bool is_json = spec.constraint && (spec.constraint->kind == ConstraintKind::json_schema ||
                                           spec.constraint->kind == ConstraintKind::json_object);
  return make_thinking_fence(
      vocabulary->tokenizer,
      {.thinking = *spec.thinking, .end_tokens = vocabulary->end_tokens, .allows_gap = is_json},
      std::move(answer));
}

Result<std::string> FenceFactory::checked_schema(const Constraint& constraint) const {
  ZLLM_TRY(Source source, source_of(constraint));
  ZLLM_TRY(const auto fence, make_answer(state_->vocabulary, constraint, source));
  return std::move(source.text);
}

Result<std::string> FenceFactory::tool_schema(std::string_view parameters, bool is_strict) const {
  const Constraint any = {ConstraintKind::json_object};
  if (parameters.empty()) {
    return checked_schema(any);
  }
  Result<std::string> source = object_schema(parameters);
  if (!source.ok()) {
    return is_strict ? source : checked_schema(any);
  }
  const Constraint schema = {ConstraintKind::json_schema, *std::move(source)};
  Result<std::string> checked = checked_schema(schema);
  if (checked.ok() || is_strict) {
    return checked;
  }
  if (schema.source.size() > kMaxGrammarBytes) {
    return checked_schema(any);
  }
  std::size_t tries = 0;
  auto wide = widened_schema(schema.source, [&](const std::string& pattern) {
    return ++tries <= kMaxTries && compile_pattern(*state_->vocabulary, pattern).ok();
  });
  if (wide.ok() &&
      make_answer(state_->vocabulary, schema, {edge::GrammarKind::json_schema, wide->text}).ok()) {
    return std::move(wide->text);
  }
  return checked_schema(any);
}

}  // namespace zllm::text
