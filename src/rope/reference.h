#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/rope/spec.h>

// What rotary position embedding means (Su et al. 2021, arXiv:2104.09864). Pair i of the rotated
// width r turns by angle position * f_i; x' = x cos - y sin, y' = x sin + y cos, both times the
// table's amplitude. Frequencies, angles, cosines and sines are f64 and rounded to f32 last, so
// that position 1,000,000 is as exact as position 1.
//
// With b = theta, base f_i = b^(-2i/r), divided by frequency_divisors[i] where the file has them:
//   linear    f_i / factor
//   dynamic   L = max(length, M): b becomes b * (factor*L/M - (factor-1))^(r/(r-2))
//   llama3    by wavelength 2*pi/f_i: kept below original/high_frequency_factor, f_i/factor above
//             original/low_frequency_factor, blended linearly in original/wavelength between
//   yarn      f_i/factor * t_i + f_i * (1 - t_i), t a ramp over lanes between the corrections of
//             beta_fast and beta_slow (Peng et al. 2023, arXiv:2309.00071); amplitude is
//             attention_factor if given, else m(mscale)/m(mscale_all_dim) if both are given and not
//             0, else m(1), with m(k) = 1 + 0.1*k*ln(factor), 1 where factor <= 1
//   longrope  f_i / short_factors[i], or long_factors[i] where length > original (Ding et al. 2024,
//             arXiv:2402.13753); amplitude is attention_factor if given, else
//             sqrt(1 + ln(factor)/ln(original)), 1 where factor <= 1
//
// "length" of dynamic and longrope is one number a sequence: how many tokens it may come to hold,
// announced before its first row is computed and kept for its life. It can be no function of a
// row's position: transformers turns ALL rows of one forward by the frequencies of that forward's
// last position + 1, so that a whole prefill of T tokens is length T for row 0 too; and it can be
// no function of what is there so far, since cached keys are stored turned and the values of later
// layers depend on them, so that a length that grows makes Append Prefill and Decode differ from
// New Prefill (as it does in transformers). With the announced length a row's result depends on
// the tokens before it, its position and that number alone: New, Append at any split and Decode
// agree for any batch. Who announces what: a prefill alone its count of tokens (this reproduces
// transformers' forward); generation the prompt and what may follow, bounded by the context (as
// engines with a fixed context do). A sequence that outgrows its table is computed anew or goes on
// with it; it never mixes tables. Prefixes may be shared where table_length is equal.
namespace zllm::rope {

// At this many radians a position, an f64 angle at position 2^32 keeps 7 bits of its fraction.
constexpr double kFrequencyLimit = 1e4;

struct Table {
  std::vector<double> frequencies;  // rotated/2 entries, radians a position
  double amplitude = 1.0;           // multiplies cosines and sines
};

// Refuses by name every field that is out of its range or missing for its scaling.
Status validate(const Spec& spec);

// The least length that has the same table: 0 unless the scaling depends on length there.
std::uint64_t table_length(const Spec& spec, std::uint64_t length);

// The table of a sequence of that announced length; an error where the spec is refused.
Result<Table> make_table(const Spec& spec, std::uint64_t length);

// Cosines and sines of a position, amplitude included, rotated/2 entries each.
void cos_sin(const Table& table, std::uint64_t position, std::span<float> cosines,
             std::span<float> sines);

// Turns the first 2 * cosines.size() lanes of one head; the others stay.
void rotate(std::span<float> head, std::span<const float> cosines, std::span<const float> sines,
            Pairing pairing);
void rotate(std::span<float> head, std::uint64_t position, const Table& table, Pairing pairing);

}  // namespace zllm::rope
