#include <utility>

#include <zllm/dialect/anthropic/messages.h>
#include <zllm/server/answering.h>
#include <zllm/server/routes.h>

namespace zllm::server {
namespace {

namespace anthropic = dialect::anthropic;

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
  const auto handle = [&services](const std::shared_ptr<Call>& call) {
    count_tokens(services, call);
  };
  return {{.method = "POST", .pattern = "/v1/messages/count_tokens", .handle = handle}};
}

}  // namespace zllm::server
