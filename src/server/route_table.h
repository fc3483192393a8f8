#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zllm/server/call.h>

namespace zllm::server {

enum class Access : std::uint8_t {
  key,   // any key of the server, where it has keys
  open,  // everybody
};

struct Route {
  std::string method;
  // "/v1/responses/{id}": a name in braces takes one segment; "{name*}" at the end takes the rest.
  std::string pattern;
  Access access = Access::key;
  // Runs on a worker; must end in a reply, a failure or a pump that makes one.
  std::function<void(const std::shared_ptr<Call>&)> handle;
};

struct RouteMatch {
  const Route *route = nullptr;                                 // null: none
  std::vector<std::pair<std::string, std::string>> parameters;  // by name
  std::vector<std::string> allowed;  // methods of the path where none matched the request's
};

// The routes of the server, the only place that says what is open.
class RouteTable {
 public:
  explicit RouteTable(std::vector<Route> routes) : routes_(std::move(routes)) {}

  const std::vector<Route>& routes() const { return routes_; }
  // HEAD matches GET. Of the path as it was sent: a segment's escapes are decoded.
  RouteMatch match(std::string_view method, std::string_view path) const;

 private:
  std::vector<Route> routes_;
};

}  // namespace zllm::server
