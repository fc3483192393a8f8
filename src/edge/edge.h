#pragma once

#include <stddef.h>
#include <stdint.h>

// The C ABI of the Rust library rust/edge, written by hand. Fallible functions return 0 or a code
// of EdgeCode; on failure they write a message to `error`, which the caller frees. Nothing throws
// and nothing unwinds. Strings are bytes with a length; they must be UTF-8 where it says text.
// C++ code uses the owning classes beside this file instead.
extern "C" {

// Counts up with every change of this file.
#define EDGE_ABI_VERSION 1

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
}
