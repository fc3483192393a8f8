// A server whose model costs nothing, to measure what all else costs:
//
//     null_server [PORT [CERTIFICATE KEY]]
//
// Every answer is the letter "a" over and over until its max_tokens. bench/http_bench.py runs it.

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zllm/backend/cpu/cpu_backend.h>
#include <zllm/base/text.h>
#include <zllm/embedded/engine.h>
#include <zllm/runtime/paged_states.h>
#include <zllm/server/server.h>

namespace zllm {
namespace {

using backend::cpu::CpuBackend;

constexpr std::uint32_t kVocabulary = 32;
constexpr std::uint64_t kContext = 8192;
constexpr std::uint32_t kPages = 32768;
constexpr std::uint32_t kAnswers = 64;
constexpr TokenId kLetter = 1;

template <class T>
T need(Result<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.error().message.c_str());
    std::exit(EXIT_FAILURE);
  }
  return *std::move(result);
}

class NullModel final : public runtime::AnyModel {
 public:
  NullModel() : backend_(need(CpuBackend::create({.threads = 1}))) {
    const backend::PagedCacheSpec pages{.planes = {}, .pages = kPages};
    states_ =
        std::make_unique<States>(*backend_, need(backend_->paged_cache(pages)), pages, kContext);
    info_.architecture = "null";
    info_.backend = "none";
    info_.limits = {.vocabulary = kVocabulary, .context = kContext, .rows = 512};
  }

  const runtime::ModelInfo& info() const override { return info_; }
  runtime::SequenceStates& states() override { return *states_; }
  Result<runtime::RoundOutput> submit(const runtime::Round& round) override {
    ZLLM_TRY(states_->reserve(round));
    std::size_t rows = 0;
    for (const runtime::Segment& segment : round.segments) {
      rows += segment.logit_rows.size();
    }
    runtime::RoundOutput output{.vocabulary = kVocabulary, .logits = {}};
    output.logits.resize(rows * kVocabulary);
    for (std::size_t row = 0; row < rows; ++row) {
      output.logits[row * kVocabulary + static_cast<std::size_t>(kLetter)] = 20.0F;
    }
    return output;
  }

 private:
  using States = runtime::PagedStates<CpuBackend>;
  std::unique_ptr<CpuBackend> backend_;
  std::unique_ptr<States> states_;
  runtime::ModelInfo info_;
};

// A space and the letters: a character a token.
std::string tokenizer_json() {
  std::string vocabulary = "\"\xC4\xA0\":0";
  for (char letter = 'a'; letter <= 'z'; ++letter) {
    vocabulary += concat(",\"", std::string(1, letter), "\":", letter - 'a' + 1);
  }
  return concat(R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":[],)",
                R"("normalizer":null,"pre_tokenizer":{"type":"ByteLevel",)",
                R"("add_prefix_space":false,"trim_offsets":true,"use_regex":false},)",
                R"("post_processor":null,"decoder":{"type":"ByteLevel","add_prefix_space":true,)",
                R"("trim_offsets":true,"use_regex":true},"model":{"type":"BPE","dropout":null,)",
                R"("unk_token":null,"continuing_subword_prefix":null,"end_of_word_suffix":null,)",
                R"("fuse_unk":false,"byte_fallback":false,"vocab":{)", vocabulary,
                R"(},"merges":[]}})");
}

std::shared_ptr<Engine> null_engine() {
  EngineParts parts{.model = std::make_unique<NullModel>(),
                    .text = {.tokenizer = need(text::Tokenizer::from_json(tokenizer_json())),
                             .templates = {},
                             .special_tokens = {}},
                    .end_tokens = {TokenId{0}}};
  EngineOptions options;
  options.max_concurrent = kAnswers;
  options.chat_template = "{% for m in messages %}{{ m.content }} {% endfor %}";
  return need(Engine::create(std::move(parts), std::move(options)));
}

int serve(const std::vector<std::string>& arguments) {
  server::ServerOptions options;
  options.logs_requests = false;
  options.transport.port =
      arguments.empty()
          ? std::uint16_t{0}
          : static_cast<std::uint16_t>(std::strtoul(arguments[0].c_str(), nullptr, 10));
  if (arguments.size() == 3) {
    options.transport.tls_certificate = arguments[1];
    options.transport.tls_key = arguments[2];
  }
  const auto server = need(server::Server::create(
      options,
      std::make_unique<server::ModelSet>(std::vector<std::string>{"null"},
                                         std::vector<std::shared_ptr<Engine>>{null_engine()})));
  const auto transport = need(server::http::serve_network(options.transport, server->handler()));
  std::fprintf(stderr, "listening on port %u\n", static_cast<unsigned>(transport->port()));
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  int number = 0;
  sigwait(&ends, &number);
  server->refuse_new();
  transport->stop(0);
  server->close();
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace zllm

int main(int count, char **values) {
  // Blocked before any thread starts, so that none but sigwait takes them.
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  return zllm::serve(std::vector<std::string>(values + 1, values + count));
}
