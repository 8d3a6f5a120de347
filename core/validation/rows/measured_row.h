// A MeasuredRow is one measurement of a training run, published or a user's own, as a CSV file
// states it; an empty field means that the source does not say. The columns are those of
// assets/validation/README.md.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/csv.h"
#include "core/base/error.h"

namespace trainyard {

enum class Trust : std::uint8_t {
  A,  // clear provenance, consistent in itself
  B,  // some settings missing
  C,  // contradicts itself, is very noisy or suspect: shown, but never used for tuning
};

struct MeasuredRow {
  int line = 0;  // line of the file; the header is line 1
  std::string id, group;
  std::string source;         // in full
  std::string source_family;  // "foundry", "vtrain-m": the unit that --cross leaves out
  std::string framework, model_family, gpu, precision, recompute, flash_attention, schedule, zero,
      sequence_parallel, intra_link, inter_link, offload, dispatcher, graphs, release, notes, also,
      flops_def;
  std::optional<std::int64_t> layers, hidden, heads, kv_heads, ffn, vocab, sequence, experts, top_k,
      expert_ffn, shared_experts, dense_layers, routed_every, zero_group, gpus, gpus_per_node, dp,
      tp, pp, vpp, cp, ep, etp, micro_batch, global_batch, lora_rank, document_tokens;
  std::optional<double> parameters_billion, capacity_factor;
  std::string metric;                                             // "step_s", "mem_gb" ...
  double value = 0;                                               // in the metric's own unit
  std::optional<double> tokens_per_second_per_gpu, step_seconds;  // derived where the row allows
  Trust trust = Trust::A;
  std::string suspect;  // why it contradicts its neighbours; empty = it does not
};

/// The header is required, columns may be in any order, and unknown columns are ignored with a
/// warning in `warnings`. Throws Error{InvalidInput} at "SOURCE:LINE" with the column, what was
/// expected and what was found.
std::vector<MeasuredRow> read_rows(std::string_view csv, const std::string& source,
                                   Diagnostics* warnings = nullptr);

/// MeasuredRows reads the same from one record after the other, the header first. Their families,
/// for which all rows have to be known, are left empty.
class MeasuredRows {
 public:
  /// Both must outlive it; warnings may be null.
  MeasuredRows(const std::string& source, Diagnostics* warnings);
  ~MeasuredRows();
  MeasuredRows(const MeasuredRows&) = delete;
  MeasuredRows& operator=(const MeasuredRows&) = delete;
  /// Nothing for the header. Throws as read_rows() does.
  std::optional<MeasuredRow> row(const CsvRecord&);
  /// Throws where there was no header.
  void expect_header() const;

 private:
  class Reader;
  std::unique_ptr<Reader> reader_;
};

/// RowFamilies names the families of rows. Rows of one document, or of groups whose names begin
/// alike, form one: leaving out one of them and tuning on another would be no test. The family's
/// name is the shortest of theirs, of equal lengths the first.
class RowFamilies {
 public:
  void see(const MeasuredRow&);
  /// The family of a row that was seen, or of its group's head, once all were. A head that was
  /// not seen is its own family.
  std::string of(const MeasuredRow& row) const { return of(head(row)); }
  std::string of(const std::string& head) const;
  static std::string head(const MeasuredRow&);

 private:
  std::string root(std::string name) const;

  std::map<std::string, std::string> parent_;    // by the head of a group
  std::map<std::string, std::string> first_of_;  // one head of each document
};

}  // namespace trainyard
