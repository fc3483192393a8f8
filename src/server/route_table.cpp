#include <zllm/server/route_table.h>

#include <cstddef>
#include <optional>

#include <zllm/server/query.h>

namespace zllm::server {
namespace {

using Parameters = std::vector<std::pair<std::string, std::string>>;

std::string_view take_segment(std::string_view& path) {
  const std::size_t end = std::min(path.find('/', 1), path.size());
  const std::string_view segment = path.substr(0, end);
  path.remove_prefix(end);
  return segment;
}

std::optional<Parameters> match_path(std::string_view pattern, std::string_view path) {
  Parameters parameters;
  while (!pattern.empty() && !path.empty()) {
    const std::string_view wanted = take_segment(pattern);
    const bool takes_rest = wanted.ends_with("*}");
    // Escaped slashes separate no segments.
    const std::string given = decode_escapes(takes_rest ? path : take_segment(path));
    if (takes_rest) {
      path = {};
    }
    if (wanted.starts_with("/{")) {
      if (given.size() < 2) {
        return std::nullopt;
      }
      const std::size_t frame = takes_rest ? 4 : 3;
      parameters.emplace_back(wanted.substr(2, wanted.size() - frame), given.substr(1));
    } else if (wanted != given) {
      return std::nullopt;
    }
  }
  return pattern.empty() && path.empty() ? std::optional(std::move(parameters)) : std::nullopt;
}

}  // namespace

RouteMatch RouteTable::match(std::string_view method, std::string_view path) const {
  RouteMatch match;
  const std::string_view wanted = method == "HEAD" ? "GET" : method;
  for (const Route& route : routes_) {
    auto parameters = match_path(route.pattern, path);
    if (!parameters) {
      continue;
    }
    if (route.method == wanted) {
      match.route = &route;
      match.parameters = *std::move(parameters);
      return match;
    }
    match.allowed.push_back(route.method);
    if (route.method == "GET") {
      match.allowed.emplace_back("HEAD");
    }
  }
  return match;
}

}  // namespace zllm::server
