#include <limits>
#include <utility>

#include <zllm/base/text.h>
#include <zllm/base/utf8.h>
#include <zllm/dialect/chat/chat.h>
#include <zllm/dialect/field_reader.h>
#include <zllm/dialect/json_writer.h>
#include <zllm/server/answering.h>
#include <zllm/server/routes.h>

namespace zllm::server {
namespace {

using dialect::FieldReader;
using dialect::JsonWriter;

constexpr std::size_t kMostTokens = std::size_t{8} << 20;  // more than any context

// Token ids of a member "tokens".
Outcome<std::vector<TokenId>> read_tokens(FieldReader& reader) {
  std::vector<TokenId> tokens;
  reader.require("tokens");
  const Json::Array *array = reader.array("tokens", kMostTokens);
  if (array == nullptr) {
    return tokens;
  }
  tokens.reserve(array->size());
  for (std::size_t i = 0; i < array->size(); ++i) {
    ZLLM_TRY(const std::int64_t token,
             dialect::read_integer((*array)[i], dialect::element_path("tokens", i),
                                   {.least = 0, .most = std::numeric_limits<TokenId>::max()}));
    tokens.push_back(static_cast<TokenId>(token));
  }
  return tokens;
}

// The piece as text, or as an array of bytes where it is not whole characters.
void write_piece(JsonWriter& json, TokenId token, const std::string& bytes) {
  json.begin_object().integer("id", token);
  if (is_valid_utf8(bytes)) {
    json.text("piece", bytes).end_object();
    return;
  }
  json.begin_array("piece");
  for (const char byte : bytes) {
    json.integer(static_cast<unsigned>(static_cast<unsigned char>(byte)));
  }
  json.end_array().end_object();
}

void tokenize(const Services& services, Call& call) {
  const auto asks = asked(services, call);
  if (!asks) {
    return;
  }
  FieldReader reader(asks->body, {});
  reader.take("model");
  reader.require("content");
  const auto content = reader.text("content");
  const bool add_special = reader.boolean("add_special").value_or(false);
  const bool parse_special = reader.boolean("parse_special").value_or(false);
  const bool with_pieces = reader.boolean("with_pieces").value_or(false);
  const auto read = reader.finish();
  if (!read.ok()) {
    return call.fail(read.error());
  }
  auto tokens = asks->model.engine->tokenize(*content, add_special, parse_special);
  if (!tokens.ok()) {
    return call.fail(tokens.error());
  }
  JsonWriter json;
  json.begin_object().begin_array("tokens");
  for (const TokenId token : *tokens) {
    if (with_pieces) {
      write_piece(json, token, asks->model.engine->token_bytes(token));
    } else {
      json.integer(token);
    }
  }
  json.end_array().end_object();
  call.reply(200, std::move(json).str());
}

void detokenize(const Services& services, Call& call) {
  const auto asks = asked(services, call);
  if (!asks) {
    return;
  }
  FieldReader reader(asks->body, {});
  reader.take("model");
  auto tokens = read_tokens(reader);
  if (!tokens.ok()) {
    return call.fail(tokens.error());
  }
  const auto read = reader.finish();
  if (!read.ok()) {
    return call.fail(read.error());
  }
  auto text = asks->model.engine->detokenize(*tokens);
  if (!text.ok()) {
    return call.fail(text.error());
  }
  JsonWriter json;
  json.begin_object().text("content", *text).end_object();
  call.reply(200, std::move(json).str());
}

// Takes what a chat request takes, so that the prompt is the one that it would have.
void apply_template(const Services& services, Call& call) {
  const auto asks = asked(services, call);
  if (!asks) {
    return;
  }
  auto exchange = dialect::chat::read(asks->body, facts_for(asks->model));
  if (!exchange.ok()) {
    return call.fail(exchange.error());
  }
  auto prompt = asks->model.engine->render(exchange->request);
  if (!prompt.ok()) {
    return call.fail(prompt.error());
  }
  JsonWriter json;
  json.begin_object().text("prompt", *prompt).end_object();
  call.reply(200, std::move(json).str());
}

}  // namespace

std::vector<Route> text_routes(Services& services) {
  using Handle = void (*)(const Services&, Call&);
  std::vector<Route> routes;
  const auto add = [&](const char *pattern, Handle handle) {
    routes.push_back({.method = "POST",
                      .pattern = pattern,
                      .handle = [&services, handle](const std::shared_ptr<Call>& call) {
                        handle(services, *call);
                      }});
  };
  add("/tokenize", tokenize);
  add("/detokenize", detokenize);
  add("/apply-template", apply_template);
  return routes;
}

}  // namespace zllm::server
