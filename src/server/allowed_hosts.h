#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/embedded/failure.h>
#include <zllm/server/http/transport.h>
#include <zllm/server/server_options.h>

namespace zllm::server {

// Whether a server that listens there is reached from this machine alone. Names are looked up.
bool is_loopback(const std::string& host);

// The hosts that requests may name. A page can let its own name lead to a loopback address ("DNS
// rebinding") and then talk to a server there as to its own; the name that its requests bear is
// what tells them.
class AllowedHosts {
 public:
  // Those of the options beside loopback's own names and the host to listen on. Where none are
  // given, servers with keys and on addresses that others reach answer to any, and the others to
  // programs that are no browsers: they may name what they like as it is.
  static Result<AllowedHosts> create(const ServerOptions& options);

  // Why the request is refused, if it is. What names no host is not.
  std::optional<Failure> refuse(const http::HttpRequest& request) const;

 private:
  AllowedHosts() = default;
  bool has(std::string_view name) const;

  bool allows_any_ = false;
  bool allows_programs_ = false;
  std::vector<std::string> names_;
};

// Whether they are names and addresses without ports, or "*". The error names the option.
Status check_allowed_hosts(const std::vector<std::string>& names);

}  // namespace zllm::server
