#pragma once

#include <optional>
#include <string>
#include <vector>

#include <zllm/server/api_keys.h>
#include <zllm/server/http/transport.h>

namespace zllm::server {

// The key that a request presents: "Authorization: Bearer KEY", or "x-api-key: KEY".
std::optional<std::string_view> presented_key(const http::HttpRequest& request);

// Cross-origin rules: only origins that are listed, and never credentials.
class CrossOrigin {
 public:
  explicit CrossOrigin(std::vector<std::string> origins) : origins_(std::move(origins)) {}

  // Headers for the response to this request; none where the origin is not listed.
  http::Headers headers(const http::HttpRequest& request) const;
  // Whether it is a preflight that deserves an answer.
  bool is_preflight(const http::HttpRequest& request) const;

 private:
  bool allows(const http::HttpRequest& request) const;
  std::vector<std::string> origins_;
};

}  // namespace zllm::server
