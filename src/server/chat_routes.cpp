#include <utility>

#include <zllm/dialect/chat/chat.h>
#include <zllm/server/answering.h>
#include <zllm/server/routes.h>

namespace zllm::server {
namespace {

void chat(Services& services, const std::shared_ptr<Call>& call) {
  auto body = call->object_body();
  if (!body.ok()) {
    return call->fail(body.error());
  }
  auto model = model_of(services, *body);
  if (!model.ok()) {
    return call->fail(model.error());
  }
  call->record().model = model->name;
  auto exchange = dialect::chat::read(*body, facts_for(model->name));
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

}  // namespace

std::vector<Route> chat_routes(Services& services) {
  const auto handle = [&services](const std::shared_ptr<Call>& call) { chat(services, call); };
  return {{.method = "POST", .pattern = "/v1/chat/completions", .handle = handle}};
}

}  // namespace zllm::server
