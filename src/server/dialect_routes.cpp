#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <zllm/dialect/catalog/catalog.h>
#include <zllm/server/answering.h>
#include <zllm/server/routes.h>

namespace zllm::server {
namespace {

void answer_body(Services& services, const dialect::Dialect& spoken,
                 const std::shared_ptr<Call>& call) {
  auto asks = asked(services, *call);
  if (!asks) {
    return;
  }
  auto batch = spoken.read(asks->body, facts_for(asks->model),
                           {.caller = call->owner, .store = services.store});
  if (!batch.ok()) {
    return call->fail(batch.error());
  }
  answer(services, call, *asks->model.engine, *std::move(batch));
}

}  // namespace

std::vector<Route> dialect_routes(Services& services) {
  std::vector<Route> routes;
  for (const dialect::Dialect& each : dialect::all_dialects()) {
    if (!each.has_own_routes) {
      routes.push_back({.method = "POST",
                        .pattern = std::string(each.path),
                        .handle = [&services, &each](const std::shared_ptr<Call>& call) {
                          answer_body(services, each, call);
                        }});
    }
  }
  return routes;
}

}  // namespace zllm::server
