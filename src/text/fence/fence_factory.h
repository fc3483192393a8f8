#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/base/strong.h>
#include <zllm/engine/fence/fence.h>
#include <zllm/text/tokenizer.h>

namespace zllm::text {

constexpr std::size_t kMaxGrammarBytes = std::size_t{256} << 10;  // of a schema, pattern or grammar
// Of Lark text, which may hold the schemas of many tools.
constexpr std::size_t kMaxLarkBytes = std::size_t{1} << 20;
constexpr std::size_t kMaxSchemaDepth = 64;

enum class ConstraintKind : std::uint8_t { json_schema, json_object, regex, lark, gbnf };

struct Constraint {
  ConstraintKind kind = ConstraintKind::json_schema;
  std::string source = {};  // nothing for json_object
};

// Reasoning at the start of an answer, during which the constraint is not in force yet.
struct Thinking {
  bool is_open = false;  // the prompt ends inside it; else it may begin with `begin`
  std::string begin = {};
  std::string end = {};
  // Tokens of reasoning after which its end is forced; nothing = no bound.
  std::optional<std::uint64_t> budget = {};
};

struct FenceSpec {
  std::optional<Constraint> constraint = {};
  std::optional<Thinking> thinking = {};
};

// Makes token programs for one tokenizer. Thread-safe; cheap to copy.
class FenceFactory {
 public:
  // end_tokens: of the model; allowed where an answer may end.
  static Result<FenceFactory> create(const Tokenizer& tokenizer, std::vector<TokenId> end_tokens);

  // Refuses, by what is wrong with it, a constraint that does not parse, is too large or too deep,
  // or uses what is not supported. Null where the spec constrains nothing.
  Result<std::unique_ptr<engine::Fence>> make(const FenceSpec& spec) const;
  // A tool's schema of parameters as a grammar of calls may hold it: of an object, whatever else it
  // says. What cannot be enforced is an error if it must be, and is else left out of the schema.
  Result<std::string> tool_schema(std::string_view parameters, bool is_strict) const;
  // A schema as a grammar may hold it; it is refused as make() would refuse it.
  Result<std::string> checked_schema(const Constraint& constraint) const;

 private:
  struct State;
  explicit FenceFactory(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace zllm::text
