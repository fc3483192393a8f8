#pragma once

#include <span>
#include <vector>

#include <zllm/attention/delta_rule/reference.h>

namespace zllm::attention::delta_rule {

// Rows after convolution, normalisation and gates: what the rule itself reads.
class GatedRows {
 public:
  // Checks every operand and moves the state's tail on by the rows.
  static Result<GatedRows> make(const Spec& spec, const Weights& weights, const Inputs& inputs,
                                State& state);

  std::size_t rows() const { return rows_; }
  // [key_width], of the key head that serves the value head; the query is scaled.
  std::span<const double> query(std::size_t row, std::size_t value_head) const;
  std::span<const double> key(std::size_t row, std::size_t value_head) const;
  // [value_width]
  std::span<const double> value(std::size_t row, std::size_t value_head) const;
  // g of one key channel; at most 0.
  double log_decay(std::size_t row, std::size_t value_head, std::size_t channel) const;
  double beta(std::size_t row, std::size_t value_head) const;

 private:
  explicit GatedRows(const Spec& spec) : spec_(spec) {}

  void normalise();
  void gate(const Weights& weights, const Inputs& inputs);

  Spec spec_;
  std::size_t rows_ = 0;
  std::vector<double> mixed_;       // [rows, channels]
  std::vector<double> log_decays_;  // [rows, decays]
  std::vector<double> betas_;       // [rows, value_heads]
};

}  // namespace zllm::attention::delta_rule
