#include <zllm/dialect/catalog/catalog.h>

#include <algorithm>
#include <array>
#include <utility>

#include <zllm/dialect/anthropic/messages.h>
#include <zllm/dialect/chat/chat.h>
#include <zllm/dialect/completions/completions.h>
#include <zllm/dialect/responses/responses.h>
#include <zllm/dialect/responses/responses_routes.h>

namespace zllm::dialect {
namespace {

Outcome<Batch> single(Outcome<Exchange> exchange) {
  ZLLM_TRY(Exchange read, std::move(exchange));
  return batch_of(std::move(read));
}

Outcome<Batch> read_chat(const Json& body, const AnswerFacts& facts, const Asker&) {
  return single(chat::read(body, facts));
}

Outcome<Batch> read_completions(const Json& body, const AnswerFacts& facts, const Asker&) {
  return completions::read(body, facts);
}

Outcome<Batch> read_responses(const Json& body, const AnswerFacts& facts, const Asker& asker) {
  ZLLM_TRY(auto read, responses::read(body, facts, asker.caller, asker.store));
  if (read.is_background) {
    return Failure(FailureKind::unsupported,
                   "an answer in process has no background; leave 'background' out", "background");
  }
  return batch_of(std::move(read.exchange));
}

Outcome<Batch> read_messages(const Json& body, const AnswerFacts& facts, const Asker&) {
  return single(anthropic::read(body, facts));
}

std::string openai_error(const Failure& failure, std::string_view) {
  return chat::error_body(failure);
}

std::string responses_error(const Failure& failure, std::string_view) {
  return responses::error_body(failure);
}

constexpr std::array<Dialect, 4> kDialects = {{{.name = "chat",
                                                .path = "/v1/chat/completions",
                                                .read = read_chat,
                                                .error_body = openai_error},
                                               {.name = "completions",
                                                .path = "/v1/completions",
                                                .read = read_completions,
                                                .error_body = openai_error},
                                               {.name = "responses",
                                                .path = "/v1/responses",
                                                .read = read_responses,
                                                .error_body = responses_error,
                                                .has_own_routes = true},
                                               {.name = "messages",
                                                .path = "/v1/messages",
                                                .read = read_messages,
                                                .error_body = anthropic::error_body,
                                                .request_id_header = "request-id"}}};

}  // namespace

std::span<const Dialect> all_dialects() { return kDialects; }

const Dialect *find_dialect(std::string_view name) {
  const auto *found = std::ranges::find(kDialects, name, &Dialect::name);
  return found == kDialects.end() ? nullptr : found;
}

const Dialect& dialect_of(std::string_view path) {
  const auto *found = std::ranges::find_if(
      kDialects, [&](const Dialect& dialect) { return path.starts_with(dialect.path); });
  return found == kDialects.end() ? kDialects.front() : *found;
}

}  // namespace zllm::dialect
