#include "core/validation/rows/measured_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <set>
#include <unordered_set>
#include <utility>

#include "core/base/nearest.h"
#include "core/base/trimmed.h"
#include "core/plan/software.h"

namespace trainyard {
namespace {

using Whole = std::optional<std::int64_t> MeasuredRow::*;
using Number = std::optional<double> MeasuredRow::*;
using Words = std::string MeasuredRow::*;

template <class Member>
struct Column {
  std::string_view name;
  Member member;
};

constexpr Column<Words> kWords[] = {
    {"id", &MeasuredRow::id},
    {"group", &MeasuredRow::group},
    {"source", &MeasuredRow::source},
    {"framework", &MeasuredRow::framework},
    {"model_family", &MeasuredRow::model_family},
    {"gpu", &MeasuredRow::gpu},
    {"precision", &MeasuredRow::precision},
    {"recompute", &MeasuredRow::recompute},
    {"flash_attention", &MeasuredRow::flash_attention},
    {"schedule", &MeasuredRow::schedule},
    {"zero_stage", &MeasuredRow::zero},
    {"sequence_parallel", &MeasuredRow::sequence_parallel},
    {"intra_link", &MeasuredRow::intra_link},
    {"inter_link", &MeasuredRow::inter_link},
    {"offload", &MeasuredRow::offload},
    {"dispatcher", &MeasuredRow::dispatcher},
    {"cuda_graphs", &MeasuredRow::graphs},
    {"release", &MeasuredRow::release},
    {"notes", &MeasuredRow::notes},
    {"also", &MeasuredRow::also},
    {"flops_def", &MeasuredRow::flops_def},
    {"measured_metric", &MeasuredRow::metric},
    {"suspect", &MeasuredRow::suspect},
};

constexpr Column<Whole> kWholes[] = {
    {"layers", &MeasuredRow::layers},
    {"hidden", &MeasuredRow::hidden},
    {"heads", &MeasuredRow::heads},
    {"kv_heads", &MeasuredRow::kv_heads},
    {"ffn_hidden", &MeasuredRow::ffn},
    {"vocab", &MeasuredRow::vocab},
    {"seq_len", &MeasuredRow::sequence},
    {"experts", &MeasuredRow::experts},
    {"topk", &MeasuredRow::top_k},
    {"expert_ffn_hidden", &MeasuredRow::expert_ffn},
    {"shared_experts", &MeasuredRow::shared_experts},
    {"dense_layers", &MeasuredRow::dense_layers},
    {"routed_every", &MeasuredRow::routed_every},
    {"zero_group", &MeasuredRow::zero_group},
    {"n_gpus", &MeasuredRow::gpus},
    {"gpus_per_node", &MeasuredRow::gpus_per_node},
    {"dp", &MeasuredRow::dp},
    {"tp", &MeasuredRow::tp},
    {"pp", &MeasuredRow::pp},
    {"vpp", &MeasuredRow::vpp},
    {"cp", &MeasuredRow::cp},
    {"ep", &MeasuredRow::ep},
    {"etp", &MeasuredRow::etp},
    {"micro_batch", &MeasuredRow::micro_batch},
    {"global_batch", &MeasuredRow::global_batch},
    {"lora_rank", &MeasuredRow::lora_rank},
    {"document_tokens", &MeasuredRow::document_tokens},
};

constexpr Column<Number> kNumbers[] = {
    {"params_b", &MeasuredRow::parameters_billion},
    {"capacity_factor", &MeasuredRow::capacity_factor},
    {"tokens_s_gpu_derived", &MeasuredRow::tokens_per_second_per_gpu},
    {"step_s_derived", &MeasuredRow::step_seconds},
};

constexpr std::string_view kValue = "measured_value", kMetric = "measured_metric", kTrust = "trust",
                           kSplit = "split";

constexpr std::int64_t kMost = 1'000'000'000'000;  // largest whole number

const std::vector<std::string_view>& metrics() {
  static const std::vector<std::string_view> list = {"step_s",
                                                     "tokens_s_gpu",
                                                     "mem_gb",
                                                     "tflops_gpu",
                                                     "samples_s_gpu",
                                                     "samples_s",
                                                     "ttt_s",
                                                     "mfu",
                                                     "tokens_s",
                                                     "mem_gb_total",
                                                     "layer_fwd_bwd_ms",
                                                     "gpu_hours_per_1T_tokens",
                                                     "hfu",
                                                     "rel_throughput",
                                                     "over_gb"};
  return list;
}

std::vector<std::string_view> column_names() {
  std::vector<std::string_view> names = {kValue, kTrust, kSplit};
  for (const auto& c : kWords) names.push_back(c.name);
  for (const auto& c : kWholes) names.push_back(c.name);
  for (const auto& c : kNumbers) names.push_back(c.name);
  return names;
}

}  // namespace

class MeasuredRows::Reader {
 public:
  Reader(const std::string& source, Diagnostics* warnings) : source_(source), warnings_(warnings) {}

  bool has_header() const { return !columns_.empty(); }
  void header(const CsvRecord& record) {
    line_ = record.line;
    const std::vector<std::string_view> known = column_names();
    std::set<std::string_view> seen;
    for (const std::string& field : record.fields) {
      const std::string_view name = trimmed(field);
      const auto found = std::find(known.begin(), known.end(), name);
      columns_.push_back(found == known.end() ? std::string_view() : *found);
      if (found == known.end() && warnings_ != nullptr && !name.empty())
        warnings_->push_back(
            {Diagnostic::Severity::Warning,
             fmt::format("no column is called \"{}\"{}; it is ignored", name.substr(0, 80),
                         did_you_mean(name.substr(0, 80), known)),
             place(),
             {}});
      if (found != known.end() && !seen.insert(*found).second)
        refuse(fmt::format("expected the column {} once, found it twice", name));
    }
    for (const std::string_view required : {kMetric, kValue})
      if (seen.count(required) == 0)
        refuse(fmt::format("expected a header with a column {}, found {} columns without it",
                           required, record.fields.size()));
  }

  MeasuredRow row(const CsvRecord& record) {
    line_ = record.line;
    if (record.fields.size() != columns_.size())
      refuse(fmt::format("expected {} fields as in the header, found {}", columns_.size(),
                         record.fields.size()));
    MeasuredRow row;
    row.line = line_;
    for (std::size_t i = 0; i < columns_.size(); ++i)
      if (const std::string_view text = trimmed(record.fields[i]); !text.empty())
        set(row, columns_[i], text);
    expect_metric(row);
    expect_word("dispatcher", row.dispatcher, {"all-to-all", "fused"});
    expect_word("cuda_graphs", row.graphs, {"on", "off"});
    if (!row.release.empty()) try {
        release_month(row.release);
      } catch (const Error& error) {
        refuse(fmt::format("release: {}", error.what()));
      }
    if (row.routed_every.value_or(1) > 2)
      refuse(fmt::format("routed_every: expected 1 (all layers) or 2 (every second), found {}",
                         *row.routed_every));
    if (row.value <= 0) refuse(fmt::format("{}: expected a number, found nothing", kValue));
    if (row.id.empty()) row.id = fmt::format("line-{}", line_);
    if (row.group.empty()) row.group = row.id;
    if (!ids_.insert(std::hash<std::string>()(row.id)).second)
      refuse(fmt::format("expected an id of its own, found \"{}\" a second time", row.id));
    return row;
  }

  [[noreturn]] void refuse(const std::string& message) const {
    throw Error(Error::Kind::InvalidInput, message, place());
  }

 private:
  void set(MeasuredRow& row, std::string_view column, std::string_view text) const {
    for (const auto& c : kWords)
      if (c.name == column) row.*c.member = std::string(text);
    for (const auto& c : kWholes)
      if (c.name == column) row.*c.member = whole(column, text);
    for (const auto& c : kNumbers)
      if (c.name == column) row.*c.member = number(column, text);
    if (column == kValue) row.value = number(column, text);
    if (column == kTrust) row.trust = trust(text);
  }

  std::int64_t whole(std::string_view column, std::string_view text) const {
    std::int64_t value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    // The ZeRO stage may be 0 too, and is read as a word.
    const std::int64_t least = column == "shared_experts" || column == "dense_layers" ? 0 : 1;
    if (failure != std::errc() || end != text.data() + text.size() || value < least ||
        value > kMost)
      refuse(fmt::format("{}: expected a whole number of at least {}, found \"{}\"", column, least,
                         text.substr(0, 80)));
    return value;
  }

  double number(std::string_view column, std::string_view text) const {
    double value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc() || end != text.data() + text.size() || !std::isfinite(value) ||
        value <= 0)
      refuse(
          fmt::format("{}: expected a number above 0, found \"{}\"", column, text.substr(0, 80)));
    return value;
  }

  Trust trust(std::string_view text) const {
    if (text == "A") return Trust::A;
    if (text == "B") return Trust::B;
    if (text == "C") return Trust::C;
    refuse(fmt::format("{}: expected A, B or C, found \"{}\"", kTrust, text.substr(0, 80)));
  }

  void expect_metric(const MeasuredRow& row) const {
    if (std::find(metrics().begin(), metrics().end(), row.metric) != metrics().end()) return;
    refuse(fmt::format("{}: expected a metric such as step_s or tokens_s_gpu, found \"{}\"{}",
                       kMetric, row.metric.substr(0, 80),
                       did_you_mean(row.metric.substr(0, 80), metrics())));
  }

  void expect_word(std::string_view column, const std::string& found,
                   const std::vector<std::string_view>& words) const {
    if (!found.empty() && std::find(words.begin(), words.end(), found) == words.end())
      refuse(fmt::format("{}: expected {} or {}, found \"{}\"{}", column, words[0], words[1],
                         found.substr(0, 80), did_you_mean(found.substr(0, 80), words)));
  }

  Place place() const { return {fmt::format("{}:{}", source_, line_)}; }

  const std::string& source_;
  Diagnostics* warnings_;
  int line_ = 1;
  std::vector<std::string_view> columns_;  // empty name: an unknown column
  // Only hashes, because a table may have millions of rows; two ids of one hash are not to be met.
  std::unordered_set<std::size_t> ids_;
};

MeasuredRows::MeasuredRows(const std::string& source, Diagnostics* warnings)
    : reader_(std::make_unique<Reader>(source, warnings)) {}
MeasuredRows::~MeasuredRows() = default;

std::optional<MeasuredRow> MeasuredRows::row(const CsvRecord& record) {
  if (reader_->has_header()) return reader_->row(record);
  reader_->header(record);
  return {};
}

void MeasuredRows::expect_header() const {
  if (!reader_->has_header()) reader_->refuse("expected a header and rows, found nothing");
}

namespace {

// Returns the publication of a row without the place in it.
std::string document(const MeasuredRow& row) { return row.source.substr(0, row.source.find(" [")); }

bool comes_before(const std::string& a, const std::string& b) {
  return std::pair(a.size(), a) < std::pair(b.size(), b);
}

}  // namespace

std::string RowFamilies::head(const MeasuredRow& row) {
  return row.group.substr(0, row.group.find('/'));
}

std::string RowFamilies::root(std::string name) const {
  while (parent_.at(name) != name) name = parent_.at(name);
  return name;
}

void RowFamilies::see(const MeasuredRow& row) {
  parent_.try_emplace(head(row), head(row));
  if (row.source.empty()) return;
  const auto [known, added] = first_of_.try_emplace(document(row), head(row));
  if (added) return;
  const std::string a = root(known->second), b = root(head(row));
  (comes_before(a, b) ? parent_.at(b) : parent_.at(a)) = comes_before(a, b) ? a : b;
}

std::string RowFamilies::of(const std::string& head) const {
  return parent_.contains(head) ? root(head) : head;
}

std::vector<MeasuredRow> read_rows(std::string_view csv, const std::string& source,
                                   Diagnostics* warnings) {
  MeasuredRows reader(source, warnings);
  RowFamilies families;
  std::vector<MeasuredRow> rows;
  for (const CsvRecord& record : parse_csv(csv, source))
    if (auto row = reader.row(record)) {
      families.see(*row);
      rows.push_back(std::move(*row));
    }
  reader.expect_header();
  for (MeasuredRow& row : rows) row.source_family = families.of(row);
  return rows;
}

}  // namespace trainyard
