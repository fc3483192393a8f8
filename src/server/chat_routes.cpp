#include <utility>

#include <zllm/dialect/chat/chat.h>
#include <zllm/server/answering.h>
#include <zllm/server/routes.h>

namespace zllm::server {
namespace {

void chat(Services& services, const std::shared_ptr<Call>& call) {
  auto asks = asked(services, *call);
  if (!asks) {
    return;
  }
  auto exchange = dialect::chat::read(asks->body, facts_for(asks->model));
  if (!exchange.ok()) {
    return call->fail(exchange.error());
  }
  answer(services, call, *asks->model.engine, *std::move(exchange));
}

}  // namespace

std::vector<Route> chat_routes(Services& services) {
  const auto handle = [&services](const std::shared_ptr<Call>& call) { chat(services, call); };
  return {{.method = "POST", .pattern = "/v1/chat/completions", .handle = handle}};
}

}  // namespace zllm::server
