#pragma once

#include <vector>

#include <zllm/server/route_table.h>
#include <zllm/server/services.h>

// Every route of the server, by what it is about. `services` outlives the routes.
namespace zllm::server {

std::vector<Route> all_routes(Services& services);

// Of every dialect that needs no routes of its own.
std::vector<Route> dialect_routes(Services& services);
std::vector<Route> messages_routes(Services& services);
std::vector<Route> responses_routes(Services& services);
std::vector<Route> model_routes(Services& services);
std::vector<Route> text_routes(Services& services);
std::vector<Route> operation_routes(Services& services);

}  // namespace zllm::server
