#include "serve.h"

#include <poll.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include <zllm/base/text.h>
#include <zllm/server/allowed_hosts.h>
#include <zllm/server/server.h>

#include "output.h"
#include "serve_options.h"
#include "signals.h"

namespace zllm::cli {
namespace {

constexpr int kLoadCheckMilliseconds = 20;  // how often loading is looked at

// Whether a signal came, after waiting so long for one; -1 = for ever.
bool wait_for_signal(const NotedSignals& signals, int milliseconds) {
  pollfd wakeup{.fd = signals.wakeup(), .events = POLLIN, .revents = 0};
  if (signals.number() == 0) {
    poll(&wakeup, 1, milliseconds);
  }
  return signals.number() != 0;
}

// An IPv6 address is in brackets.
std::string url_host(const std::string& host) {
  return host.find(':') == std::string::npos || host.starts_with('[') ? host
                                                                      : concat("[", host, "]");
}

void announce(const server::Server& server, const server::ServerOptions& options,
              std::uint16_t port) {
  const bool is_encrypted = !options.transport.tls_certificate.empty();
  server.log().event("info", "listening",
                     concat("listening on ", is_encrypted ? "https" : "http", "://",
                            url_host(options.transport.host), ":", port));
  if (options.api_keys.empty() && !server::is_loopback(options.transport.host)) {
    server.log().event("warning", "open",
                       "everybody who reaches this address may use the server: it has no API key");
  }
}

// Until every model is there or a signal comes.
Status wait_for_models(const server::Server& server, const NotedSignals& signals) {
  while (server.models().is_loading()) {
    if (wait_for_signal(signals, kLoadCheckMilliseconds)) {
      return {};
    }
  }
  const std::string error = server.models().first_error();
  if (!error.empty()) {
    return Error{Code::invalid_argument, error};
  }
  for (const server::ModelSet::Entry& entry : server.models().entries()) {
    for (const std::string& warning : entry.engine->info().warnings) {
      server.log().event("warning", "model", concat(entry.name, ": ", warning));
    }
    server.log().event("info", "ready", concat(entry.name, " is ready"));
  }
  return {};
}

// A model cannot be stopped while it loads; nothing that it holds outlives the process.
[[noreturn]] void leave_while_loading(const server::Server& server) {
  server.log().flush();
  std::fflush(nullptr);
  std::_Exit(EXIT_SUCCESS);
}

Status run(const ServeOptions& given) {
  ZLLM_TRY(server::ServerOptions options, server_options(given));
  options.log = write_log;
  const NotedSignals signals;
  ZLLM_TRY(const auto server, server::Server::create(options));
  ZLLM_TRY(const auto transport, server::http::serve_network(options.transport, server->handler()));
  announce(*server, options, transport->port());
  server->load();
  Status loaded = wait_for_models(*server, signals);
  if (!loaded.ok()) {
    transport->stop(0);
    server->close();
    return loaded;
  }
  wait_for_signal(signals, -1);
  server->log().event("info", "draining",
                      "a signal came: running answers may end, new ones are refused");
  server->refuse_new();
  transport->stop(given.drain_seconds);
  if (server->models().is_loading()) {
    leave_while_loading(*server);
  }
  server->close();
  server->log().event("info", "stopped", "the server has ended");
  return {};
}

}  // namespace

Command serve_command() {
  Command command =
      make_command<ServeOptions>("serve", "Serve models over HTTP", describe, run, check);
  command.takes_config = true;
  return command;
}

}  // namespace zllm::cli
