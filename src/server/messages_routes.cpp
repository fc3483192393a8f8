#include <utility>

#include <zllm/dialect/anthropic/messages.h>
#include <zllm/server/answering.h>
#include <zllm/server/routes.h>

namespace zllm::server {
namespace {

namespace anthropic = dialect::anthropic;

void message(Services& services, const std::shared_ptr<Call>& call) {
  auto asks = asked(services, *call);
  if (!asks) {
    return;
  }
  auto exchange = anthropic::read(asks->body, facts_for(asks->model));
  if (!exchange.ok()) {
    return call->fail(exchange.error());
  }
  answer(services, call, *asks->model.engine, *std::move(exchange));
}

void count_tokens(Services& services, const std::shared_ptr<Call>& call) {
  auto asks = asked(services, *call);
  if (!asks) {
    return;
  }
  auto request = anthropic::read_count(asks->body);
  if (!request.ok()) {
    return call->fail(request.error());
  }
  auto count = asks->model.engine->count_prompt_tokens(*request);
  if (!count.ok()) {
    return call->fail(count.error());
  }
  call->reply(200, anthropic::count_body(*count));
}

}  // namespace

std::vector<Route> messages_routes(Services& services) {
  return {
      {.method = "POST",
       .pattern = "/v1/messages",
       .shape = Shape::anthropic,
       .handle = [&services](const std::shared_ptr<Call>& call) { message(services, call); }},
      {.method = "POST",
       .pattern = "/v1/messages/count_tokens",
       .shape = Shape::anthropic,
       .handle = [&services](const std::shared_ptr<Call>& call) { count_tokens(services, call); }}};
}

}  // namespace zllm::server
