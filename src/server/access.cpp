#include <zllm/server/access.h>

#include <algorithm>
#include <cctype>
#include <string_view>

namespace zllm::server {
namespace {

constexpr std::string_view kScheme = "bearer ";

bool begins_with_scheme(std::string_view value) {
  return value.size() >= kScheme.size() &&
         std::equal(kScheme.begin(), kScheme.end(), value.begin(), [](char a, char b) {
           return a == static_cast<char>(std::tolower(static_cast<unsigned char>(b)));
         });
}

}  // namespace

std::optional<std::string_view> presented_key(const http::HttpRequest& request) {
  const std::optional<std::string_view> authorization = request.header("authorization");
  if (authorization && begins_with_scheme(*authorization)) {
    std::string_view key = authorization->substr(kScheme.size());
    key.remove_prefix(std::min(key.find_first_not_of(' '), key.size()));
    return key;
  }
  return request.header("x-api-key");
}

bool CrossOrigin::allows(const http::HttpRequest& request) const {
  const std::optional<std::string_view> origin = request.header("origin");
  return origin && std::ranges::find(origins_, *origin) != origins_.end();
}

http::Headers CrossOrigin::headers(const http::HttpRequest& request) const {
  if (origins_.empty()) {
    return {};
  }
  http::Headers headers = {{"vary", "Origin"}};
  if (allows(request)) {
    headers.emplace_back("access-control-allow-origin", std::string(*request.header("origin")));
    headers.emplace_back("access-control-expose-headers", "x-request-id, request-id, retry-after");
  }
  return headers;
}

bool CrossOrigin::is_preflight(const http::HttpRequest& request) const {
  return request.method == "OPTIONS" && request.header("access-control-request-method") &&
         allows(request);
}

}  // namespace zllm::server
