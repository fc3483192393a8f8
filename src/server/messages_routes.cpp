#include <utility>

#include <zllm/dialect/anthropic/messages.h>
#include <zllm/server/answering.h>
#include <zllm/server/routes.h>

namespace zllm::server {
namespace {

namespace anthropic = dialect::anthropic;

void message(Services& services, const std::shared_ptr<Call>& call) {
  auto body = call->object_body();
  if (!body.ok()) {
    return call->fail(body.error());
  }
  auto model = model_of(services, *body);
  if (!model.ok()) {
    return call->fail(model.error());
  }
  call->record().model = model->name;
  auto exchange = anthropic::read(*body, facts_for(model->name));
  if (!exchange.ok()) {
    return call->fail(exchange.error());
  }
  std::vector<Request> requests;
  requests.push_back(std::move(exchange->request));
  answer(services, *model->engine,
         {.call = call,
          .answers = {},
          .teller = teller_of(std::move(exchange->encoder)),
          .is_streaming = exchange->is_streaming},
         std::move(requests));
}

void count_tokens(Services& services, const std::shared_ptr<Call>& call) {
  auto body = call->object_body();
  if (!body.ok()) {
    return call->fail(body.error());
  }
  auto model = model_of(services, *body);
  if (!model.ok()) {
    return call->fail(model.error());
  }
  auto request = anthropic::read_count(*body);
  if (!request.ok()) {
    return call->fail(request.error());
  }
  auto count = model->engine->count_prompt_tokens(*request);
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
