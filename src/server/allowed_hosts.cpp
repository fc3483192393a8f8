#include <zllm/server/allowed_hosts.h>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include <zllm/base/text.h>

namespace zllm::server {
namespace {

constexpr std::string_view kOption = "--allowed-hosts";
constexpr std::string_view kAny = "*";
constexpr std::string_view kLocalhost = "localhost";
constexpr std::string_view kUnderLocalhost = ".localhost";
constexpr unsigned char kLoopbackNetwork = 127;  // the first byte of all its IPv4 addresses

using Ipv4 = std::array<unsigned char, 4>;
using Ipv6 = std::array<unsigned char, 16>;

constexpr Ipv6 kLoopback6 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
// Of IPv4's loopback network as IPv6 spells it.
constexpr std::array<unsigned char, 13> kMappedLoopback = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, kLoopbackNetwork};

// In the one spelling that is compared, in brackets; nothing where it is no address.
std::optional<std::string> plain_ipv6(std::string_view text) {
  Ipv6 address{};
  std::array<char, INET6_ADDRSTRLEN> spelled{};
  if (inet_pton(AF_INET6, std::string(text).c_str(), address.data()) != 1 ||
      inet_ntop(AF_INET6, address.data(), spelled.data(), spelled.size()) == nullptr) {
    return std::nullopt;
  }
  return concat("[", spelled.data(), "]");
}

// Neither case nor the dot at the end of a whole name tells names apart.
std::string plain_name(std::string_view name) {
  if (name.ends_with('.')) {
    name.remove_suffix(1);
  }
  std::string plain(name);
  std::ranges::transform(plain, plain.begin(), [](char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
  return plain;
}

// Of a request's host, which may have a port; as it is where it is none.
std::string name_of(std::string_view host) {
  if (!host.starts_with('[')) {
    return plain_name(host.substr(0, host.rfind(':')));
  }
  const std::size_t end = host.find(']');
  if (end == std::string_view::npos) {
    return std::string(host);
  }
  const std::string_view port = host.substr(end + 1);
  const auto address = plain_ipv6(host.substr(1, end - 1));
  return address && (port.empty() || port.starts_with(':')) ? *address : std::string(host);
}

// What an option says, without a port; nothing where it is neither a name nor an address.
std::optional<std::string> given_name(std::string_view given) {
  if (given.find(':') != std::string_view::npos) {
    const bool is_framed = given.starts_with('[') && given.ends_with(']');
    return plain_ipv6(is_framed ? given.substr(1, given.size() - 2) : given);
  }
  std::string name = plain_name(given);
  const auto is_of_names = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
  };
  const bool is_name = !name.empty() && name.front() != '.' &&
                       name.find("..") == std::string::npos &&
                       std::ranges::all_of(name, is_of_names);
  return is_name ? std::optional(std::move(name)) : std::nullopt;
}

// Nobody can let these lead elsewhere, so no page bears them but this machine's own.
bool is_loopback_name(const std::string& name) {
  Ipv4 address{};
  return name == kLocalhost || name.ends_with(kUnderLocalhost) || name == "[::1]" ||
         (inet_pton(AF_INET, name.c_str(), address.data()) == 1 &&
          address.front() == kLoopbackNetwork);
}

bool is_loopback_address(const addrinfo& found) {
  if (found.ai_family == AF_INET) {
    sockaddr_in endpoint{};
    Ipv4 address{};
    std::memcpy(&endpoint, found.ai_addr, sizeof(endpoint));
    std::memcpy(address.data(), &endpoint.sin_addr, address.size());
    return address.front() == kLoopbackNetwork;
  }
  if (found.ai_family != AF_INET6) {
    return false;
  }
  sockaddr_in6 endpoint{};
  Ipv6 address{};
  std::memcpy(&endpoint, found.ai_addr, sizeof(endpoint));
  std::memcpy(address.data(), &endpoint.sin6_addr, address.size());
  return address == kLoopback6 ||
         std::ranges::equal(kMappedLoopback, std::span(address).first<kMappedLoopback.size()>());
}

// Browsers send an origin with all that is not merely read, and their name, which begins like this
// for all of them, with the rest. That name alone some let a page change.
bool is_of_browser(const http::HttpRequest& request) {
  constexpr std::string_view kBrowser = "Mozilla/";
  return request.header("origin") || request.header("sec-fetch-site") ||
         request.header("user-agent").value_or(std::string_view()).starts_with(kBrowser);
}

struct FreeAddresses {
  void operator()(addrinfo *found) const { freeaddrinfo(found); }
};

}  // namespace

bool is_loopback(const std::string& host) {
  const auto name = given_name(host);
  if (name && is_loopback_name(*name)) {
    return true;
  }
  addrinfo *raw = nullptr;
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  const bool is_framed = host.starts_with('[') && host.ends_with(']');
  const std::string bare = is_framed ? host.substr(1, host.size() - 2) : host;
  if (getaddrinfo(bare.c_str(), nullptr, &wanted, &raw) != 0) {
    return false;  // nothing can listen there
  }
  const std::unique_ptr<addrinfo, FreeAddresses> found(raw);
  // The first of a name's addresses is the one that is bound.
  return found != nullptr && is_loopback_address(*found);
}

Status check_allowed_hosts(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (name != kAny && !given_name(name)) {
      return Error{Code::invalid_argument,
                   concat(kOption, ": ", quote(name),
                          " is neither a host's name or address without a port, such as "
                          "llm.example.org, nor * for any")};
    }
  }
  return {};
}

Result<AllowedHosts> AllowedHosts::create(const ServerOptions& options) {
  ZLLM_TRY(check_allowed_hosts(options.allowed_hosts));
  const std::string& own = options.transport.host;
  AllowedHosts hosts;
  hosts.allows_programs_ = options.allowed_hosts.empty();
  hosts.allows_any_ =
      options.allowed_hosts.empty()
          ? !options.api_keys.empty() || !is_loopback(own)
          : std::ranges::find(options.allowed_hosts, kAny) != options.allowed_hosts.end();
  std::vector<std::string> given = options.allowed_hosts;
  given.push_back(own);
  for (const std::string& each : given) {
    if (auto name = given_name(each)) {
      hosts.names_.push_back(*std::move(name));
    }
  }
  return hosts;
}

bool AllowedHosts::has(std::string_view name) const {
  return std::ranges::find(names_, name) != names_.end();
}

std::optional<Failure> AllowedHosts::refuse(const http::HttpRequest& request) const {
  const std::string_view host = request.header("host").value_or(std::string_view());
  if (allows_any_ || host.empty() || (allows_programs_ && !is_of_browser(request))) {
    return std::nullopt;
  }
  const std::string name = name_of(host);
  if (is_loopback_name(name) || has(name)) {
    return std::nullopt;
  }
  // The dialects' word for what is known and not allowed.
  return Failure(FailureKind::invalid,
                 concat("the host ", quote(name),
                        " is none of this server's; where a proxy or another name leads here, "
                        "start it with ",
                        kOption, " ", quote(name)),
                 {}, "permission_error");
}

}  // namespace zllm::server
