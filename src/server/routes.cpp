#include <zllm/server/routes.h>

#include <iterator>
#include <utility>

namespace zllm::server {

std::vector<Route> all_routes(Services& services) {
  std::vector<Route> all;
  for (const auto part : {dialect_routes, messages_routes, responses_routes, model_routes,
                          text_routes, operation_routes}) {
    std::vector<Route> routes = part(services);
    all.insert(all.end(), std::make_move_iterator(routes.begin()),
               std::make_move_iterator(routes.end()));
  }
  return all;
}

}  // namespace zllm::server
