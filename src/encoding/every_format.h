#pragma once

#include <tuple>

#include <zllm/encoding/block_format.h>
#include <zllm/encoding/iq1_m.h>
#include <zllm/encoding/iq1_s.h>
#include <zllm/encoding/iq2_s.h>
#include <zllm/encoding/iq2_xs.h>
#include <zllm/encoding/iq2_xxs.h>
#include <zllm/encoding/iq3_s.h>
#include <zllm/encoding/iq3_xxs.h>
#include <zllm/encoding/iq4_nl.h>
#include <zllm/encoding/iq4_xs.h>
#include <zllm/encoding/mxfp4.h>
#include <zllm/encoding/plain_float.h>
#include <zllm/encoding/q2_k.h>
#include <zllm/encoding/q3_k.h>
#include <zllm/encoding/q4_0.h>
#include <zllm/encoding/q4_1.h>
#include <zllm/encoding/q4_k.h>
#include <zllm/encoding/q5_0.h>
#include <zllm/encoding/q5_1.h>
#include <zllm/encoding/q5_k.h>
#include <zllm/encoding/q6_k.h>
#include <zllm/encoding/q8_0.h>
#include <zllm/encoding/tq1_0.h>
#include <zllm/encoding/tq2_0.h>

namespace zllm::encoding {

// Every format that has a reference decode, in the order of Encoding.
using EveryFormat =
    std::tuple<F32, F16, Bf16, Q40, Q41, Q50, Q51, Q80, Q2K, Q3K, Q4K, Q5K, Q6K, Iq4Nl, Iq4Xs, Iq3S,
               Iq3Xxs, Iq2S, Iq2Xs, Iq2Xxs, Iq1S, Iq1M, Tq10, Tq20, Mxfp4>;

// From run time to compile time: calls visitor(Format{}) for the format of the encoding and is
// true, or is false when the encoding has none.
template <class Visitor>
constexpr bool visit_format(Encoding encoding, Visitor&& visitor) {
  return std::apply(
      [&](auto... formats) {
        const auto visit_if_same = [&](auto format) {
          if (decltype(format)::kEncoding != encoding) {
            return false;
          }
          visitor(format);
          return true;
        };
        return (visit_if_same(formats) || ...);
      },
      EveryFormat{});
}

}  // namespace zllm::encoding
