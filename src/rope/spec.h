#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace zllm::rope {

// Which two lanes of the rotated width r form a pair.
enum class Pairing {
  half,      // (i, i + r/2)
  adjacent,  // (2i, 2i + 1)
};

enum class Scaling { none, linear, dynamic, llama3, yarn, longrope };

// Rotary embedding of one kind of layer, with every scaling's parameters. Formulas: reference.h.
struct Spec {
  std::uint32_t rotated = 0;  // lanes that turn, even, at the front of the head
  Pairing pairing = Pairing::half;
  double theta = 10000.0;
  std::uint64_t max_positions = 0;  // max_position_embeddings M; used by dynamic and longrope
  Scaling scaling = Scaling::none;
  double factor = 1.0;                     // linear, dynamic, llama3, yarn; longrope's amplitude
  std::uint64_t original_positions = 0;    // context length before scaling; llama3, yarn, longrope
  double low_frequency_factor = 1.0;       // llama3
  double high_frequency_factor = 4.0;      // llama3
  double beta_fast = 32.0;                 // yarn
  double beta_slow = 1.0;                  // yarn
  bool truncate = true;                    // yarn: corrections rounded to whole lanes
  std::optional<double> mscale;            // yarn
  std::optional<double> mscale_all_dim;    // yarn
  std::optional<double> attention_factor;  // yarn, longrope: replaces the computed amplitude
  std::vector<double> short_factors;       // longrope, rotated/2 entries
  std::vector<double> long_factors;        // longrope, rotated/2 entries
  // Divisors per frequency given by the file (GGUF rope_freqs.weight); empty or rotated/2 entries.
  std::vector<double> frequency_divisors;

  bool operator==(const Spec&) const = default;
};

}  // namespace zllm::rope
