#pragma once

#include <stddef.h>
#include <stdint.h>

// The C ABI of the Rust library rust/edge, written by hand. Fallible functions return 0 or a code
// of EdgeCode; on failure they write a message to `error`, which the caller frees. Nothing throws
// and nothing unwinds. Strings are bytes with a length; they must be UTF-8 where it says text.
// C++ code uses the owning classes beside this file instead.
extern "C" {

// Counts up with every change of this file.
#define EDGE_ABI_VERSION 5

enum EdgeCode {
  EDGE_OK = 0,
  EDGE_INVALID_ARGUMENT = 1,
  EDGE_INVALID_FILE = 2,
  EDGE_NOT_FOUND = 3,
  EDGE_UNSUPPORTED = 4,
  EDGE_RESOURCE_EXHAUSTED = 5,
  EDGE_INTERNAL = 6,
};

// Borrowed for the call.
struct EdgeSlice {
  const uint8_t *data;
  size_t size;
};

// Owned by the caller until edge_bytes_free.
struct EdgeBytes {
  uint8_t *data;
  size_t size;
  size_t capacity;
};

// Owned by the caller until edge_words_free.
struct EdgeWords {
  uint32_t *data;
  size_t size;
  size_t capacity;
};

uint32_t edge_abi_version(void);
void edge_bytes_free(EdgeBytes bytes);
void edge_words_free(EdgeWords words);
int32_t edge_test_panic(EdgeBytes *error);

// Tokenizers (feature "tokenizers"). A tokenizer may be used by several threads at once.
struct EdgeTokenizer;

enum EdgeVocabularyModel {
  EDGE_VOCABULARY_BYTE_LEVEL = 0,      // byte-level byte pairs: merges and a pre-tokenizer
  EDGE_VOCABULARY_SENTENCE_PIECE = 1,  // spaces marked by U+2581, bytes as <0xNN>: scores
  EDGE_VOCABULARY_SPACE_MARKED = 2,    // the same with merges in place of scores
};

// The vocabulary of a GGUF file; tokens are text. `types` are GGUF's token types.
struct EdgeVocabulary {
  const EdgeSlice *tokens;
  const float *scores;  // token_count of them, or null
  const uint8_t *types;
  size_t token_count;
  const EdgeSlice *merges;  // "left right"
  size_t merge_count;
  EdgeSlice pre_tokenizer;  // of byte-level vocabularies
  uint32_t model;
  uint32_t add_space_prefix;
};

enum EdgeTokenFlag {
  EDGE_TOKEN_KNOWN = 1,
  EDGE_TOKEN_SPECIAL = 2,  // an added token that text makes only when asked
  EDGE_TOKEN_ADDED = 4,    // an added token that text makes always
};

int32_t edge_tokenizer_from_json(EdgeSlice json, EdgeTokenizer **out, EdgeBytes *error);
int32_t edge_tokenizer_from_vocabulary(const EdgeVocabulary *vocabulary, EdgeTokenizer **out,
                                       EdgeBytes *error);
void edge_tokenizer_free(EdgeTokenizer *tokenizer);
// A `mark` that is not empty falls away from the text once control tokens have been found in it.
int32_t edge_tokenizer_encode(const EdgeTokenizer *tokenizer, EdgeSlice text,
                              uint32_t parse_special, EdgeSlice mark, EdgeWords *ids,
                              EdgeBytes *error);
int32_t edge_tokenizer_id_of(const EdgeTokenizer *tokenizer, EdgeSlice token, uint32_t *id,
                             EdgeBytes *error);
// The ids that the tokenizer's post-processor puts before a text.
int32_t edge_tokenizer_begin(const EdgeTokenizer *tokenizer, EdgeWords *ids, EdgeBytes *error);
// For every id: where its bytes end in `bytes`, and its EdgeTokenFlags. `leading_spaces` is how
// many spaces at most fall away at the start of a whole text.
int32_t edge_tokenizer_tables(const EdgeTokenizer *tokenizer, EdgeBytes *bytes, EdgeWords *ends,
                              EdgeBytes *flags, uint32_t *leading_spaces, EdgeBytes *error);

// Grammars (feature "grammar"): which tokens of a vocabulary may come next. A vocabulary may be
// used by several threads at once, a grammar by one at a time.
struct EdgeGrammarVocabulary;
struct EdgeGrammar;

// From edge_tokenizer_tables: one end and one byte of flags for every id.
int32_t edge_grammar_vocabulary_new(EdgeSlice bytes, const uint32_t *ends, EdgeSlice flags,
                                    uint32_t end_of_sequence, EdgeGrammarVocabulary **out,
                                    EdgeBytes *error);
void edge_grammar_vocabulary_free(EdgeGrammarVocabulary *vocabulary);
// Whether some token of text is longer than these bytes and begins with them.
int32_t edge_grammar_vocabulary_extends(const EdgeGrammarVocabulary *vocabulary, EdgeSlice bytes,
                                        uint32_t *out, EdgeBytes *error);
// `kind` is "json_schema", "regex" or "lark".
int32_t edge_grammar_new(const EdgeGrammarVocabulary *vocabulary, EdgeSlice kind, EdgeSlice source,
                         EdgeGrammar **out, EdgeBytes *error);
// Goes on from the same place, apart.
int32_t edge_grammar_clone(const EdgeGrammar *grammar, EdgeGrammar **out, EdgeBytes *error);
void edge_grammar_free(EdgeGrammar *grammar);
// Bit i % 32 of word i / 32 says whether id i may come next.
int32_t edge_grammar_mask(EdgeGrammar *grammar, EdgeWords *words, EdgeBytes *error);
// A token that may not come next is refused and changes nothing.
int32_t edge_grammar_consume(EdgeGrammar *grammar, uint32_t token, EdgeBytes *error);
int32_t edge_grammar_rollback(EdgeGrammar *grammar, uint32_t tokens, EdgeBytes *error);
// The only bytes that may come next, as far as there is one way on.
int32_t edge_grammar_forced(EdgeGrammar *grammar, EdgeBytes *bytes, EdgeBytes *error);
int32_t edge_grammar_state(EdgeGrammar *grammar, uint32_t *accepting, uint32_t *stopped,
                           EdgeBytes *error);

// Chat templates (feature "template"). A template may be used by several threads at once.
struct EdgeTemplate;

// Source is text. A template that does not parse is an invalid file.
int32_t edge_template_compile(EdgeSlice source, EdgeTemplate **out, EdgeBytes *error);
void edge_template_free(EdgeTemplate *compiled);
// `request` is the text of a JSON object with "messages", `special_tokens` that of a JSON object of
// strings. `local_seconds` is the local time of strftime_now in seconds since 1970, the offset of
// its time zone included. Refusals of the template itself are invalid arguments with its message.
int32_t edge_template_render(const EdgeTemplate *compiled, EdgeSlice request,
                             EdgeSlice special_tokens, int64_t local_seconds, EdgeBytes *out,
                             EdgeBytes *error);
// Whether any expression of the template reads the name.
int32_t edge_template_reads(const EdgeTemplate *compiled, EdgeSlice name, uint32_t *out,
                            EdgeBytes *error);

// HTTP (feature "http"; HTTP/3 with feature "h3"). Requests are handed over on threads of the
// server; all that concerns a stream may be called on any thread and never waits.
struct EdgeHttpServer;
struct EdgeHttpStream;

struct EdgeHttpHeader {
  EdgeSlice name;
  EdgeSlice value;
};

struct EdgeHttpOptions {
  EdgeSlice host;             // text
  EdgeSlice tls_certificate;  // paths of PEM files as text; both or none
  EdgeSlice tls_key;
  uint64_t body_bytes;
  uint64_t total_body_bytes;  // of all requests that are not answered yet
  uint64_t header_bytes;
  uint64_t target_bytes;
  uint64_t connections;
  uint64_t streams_per_connection;
  uint64_t buffer_bytes;
  double header_seconds;
  double body_seconds;
  double idle_seconds;
  double write_seconds;
  uint32_t port;  // 0 = any that is free
  uint32_t offers_http3;
};

// Borrowed for the call of the handler. Values of headers are UTF-8, if need be by replacement.
// What came and is no request has a refusal and neither a method nor a path.
struct EdgeHttpRequest {
  EdgeSlice method;
  EdgeSlice path;   // as sent, without the query
  EdgeSlice query;  // without "?"
  const EdgeHttpHeader *headers;
  size_t header_count;
  EdgeSlice body;
  EdgeSlice peer;
  EdgeSlice refusal_reason;
  uint32_t refusal;  // a status, or 0
  uint32_t version;  // 1, 2 or 3
  uint32_t is_encrypted;
};

// Must be short and must not throw. Owns the stream.
using EdgeHttpHandler = void (*)(void *user, const EdgeHttpRequest *request,
                                 EdgeHttpStream *stream);
using EdgeHttpEvent = void (*)(void *user);

// Errors name the address or the file. `user` must live until the server has stopped.
int32_t edge_http_serve(const EdgeHttpOptions *options, EdgeHttpHandler handler, void *user,
                        EdgeHttpServer **out, EdgeBytes *error);
// Whether a server could use these PEM files; errors name the file.
int32_t edge_http_check_tls(EdgeSlice certificate, EdgeSlice key, EdgeBytes *error);
uint32_t edge_http_port(const EdgeHttpServer *server);
// Waits so long for what runs, and cuts the rest; who comes meanwhile is handed over still, and not
// waited for. Afterwards the handler is not called any more. Not for a thread of the server.
int32_t edge_http_stop(const EdgeHttpServer *server, double drain_seconds, EdgeBytes *error);
void edge_http_server_free(EdgeHttpServer *server);  // stops at once

// At most once, before anything else: `event` is called when what is pending falls under half of
// buffer_bytes after having been over it, and when the client goes; `release` once at the end.
void edge_http_stream_watch(const EdgeHttpStream *stream, EdgeHttpEvent event,
                            EdgeHttpEvent release, void *user);
// Calls `event` once more on a thread of the server.
void edge_http_stream_remind(const EdgeHttpStream *stream);
// `whole` is the answer's whole body, or null when it comes by edge_http_stream_write. A header
// that is none is left out.
void edge_http_stream_start(const EdgeHttpStream *stream, uint32_t status,
                            const EdgeHttpHeader *headers, size_t header_count,
                            const EdgeSlice *whole);
uint32_t edge_http_stream_write(const EdgeHttpStream *stream,
                                EdgeSlice piece);  // 0: nobody takes it
void edge_http_stream_finish(const EdgeHttpStream *stream);
void edge_http_stream_reset(const EdgeHttpStream *stream);
size_t edge_http_stream_pending(const EdgeHttpStream *stream);
uint32_t edge_http_stream_is_gone(const EdgeHttpStream *stream);
// Resets a stream that is not finished.
void edge_http_stream_free(EdgeHttpStream *stream);
}
