#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <zllm/base/json.h>
#include <zllm/dialect/dialect.h>
#include <zllm/dialect/responses/response_store.h>

// The one list of dialects.
namespace zllm::dialect {

// Who asks, for dialects that go on from what they have answered.
struct Asker {
  std::string caller = {};
  std::shared_ptr<responses::ResponseStore> store = {};  // null: nothing is stored or found
};

struct Dialect {
  std::string_view name;  // as programs give it
  std::string_view path;  // where the service takes its bodies, and the beginning of its others
  Outcome<Batch> (*read)(const Json& body, const AnswerFacts& facts, const Asker& asker);
  std::string (*error_body)(const Failure& failure, std::string_view request_id);
  // A header of its own with the request's id, in lower case; empty = none.
  std::string_view request_id_header = {};
  // Answers outlive their requests, so that the server has routes of its own for it.
  bool has_own_routes = false;
};

std::span<const Dialect> all_dialects();
// Null when there is none of that name.
const Dialect *find_dialect(std::string_view name);
// Whose errors a path of the service speaks; OpenAI's where the path is nobody's.
const Dialect& dialect_of(std::string_view path);

}  // namespace zllm::dialect
