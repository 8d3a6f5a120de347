#include "core/validation/bands.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/cost/physical.h"
#include "core/estimate/estimate.h"
#include "core/methods/settings/settings.h"
#include "core/model/zoo/zoo.h"
#include "core/validation/rows/row_scenario.h"
#include "core/validation/shipped.h"
#include "tests/support/non_empty.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

std::size_t place(const std::string& name) {
  const std::vector<std::string> names = feature_names();
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

RunFeatures at(double layer_work) {
  RunFeatures run{std::vector<double>(feature_names().size(), 0)};
  run.values[place("layer-work")] = layer_work;
  return run;
}

// Six sources along one feature; errors are four times as large at its lower end.
std::vector<ValidatedRow> along(int count) {
  std::vector<ValidatedRow> rows;
  const Random random(3);
  for (int i = 0; i < count; ++i) {
    const auto n = static_cast<std::uint64_t>(i);
    ValidatedRow row;
    row.id = "row-" + std::to_string(i);
    row.source = "source-" + std::to_string(i % 6);
    row.group = row.source + "-" + std::to_string(i / 6 % 4);
    const double where = 4.0 * i / count;
    row.features = at(where);
    row.log_error = (where < 2 ? 0.2 : 0.05) * (2 * random.uniform(n) - 1);
    row.parts = {"Hopper devices", "schedule 1f1b"};
    rows.push_back(std::move(row));
  }
  return rows;
}

const std::vector<std::string> kParts = {"Hopper devices", "schedule 1f1b"};

TEST(Bands, HoldNineOfTenRowsOfSourcesTheyHaveNotSeen) {
  const ValidatedRows known(along(240));
  int inside = 0;
  for (const ValidatedRow& row : testing::non_empty(known.rows())) {
    const Band band = known.band(row.features, row.parts, false, row.source);
    EXPECT_LT(band.low, 0);
    EXPECT_GT(band.high, 0);
    EXPECT_NEAR((1 + band.low) * (1 + band.high), 1, 1e-9);  // as far down as up, as factors
    // The truth is the prediction over exp(log_error).
    const double truth = std::exp(-row.log_error);
    inside += truth >= 1 + band.low && truth <= 1 + band.high ? 1 : 0;
  }
  EXPECT_GE(inside, 216);
}

TEST(Bands, AreWideWhereRowsWereFarOff) {
  const ValidatedRows known(along(240));
  const Band hard = known.band(at(0.5), kParts, false), easy = known.band(at(3.5), kParts, false);
  EXPECT_GT(hard.high, 2 * easy.high);
}

TEST(Bands, NameTheNearestRowsNearestFirst) {
  const ValidatedRows known(along(240));
  const Band band = known.band(known.rows()[100].features, kParts, false);
  ASSERT_EQ(band.nearest.size(), 5u);
  EXPECT_EQ(band.nearest[0].id, "row-100");
  EXPECT_EQ(band.nearest[0].distance, 0);
  EXPECT_TRUE(
      std::is_sorted(band.nearest.begin(), band.nearest.end(),
                     [](const NearRow& a, const NearRow& b) { return a.distance < b.distance; }));
  EXPECT_FALSE(band.outside);
  const std::string own = known.rows()[100].source;
  for (const NearRow& row :
       testing::non_empty(known.band(known.rows()[100].features, kParts, false, own).nearest))
    EXPECT_NE(row.id, "row-100");
}

TEST(Bands, GrowAndSaySoBeyondWhatWasValidated) {
  const ValidatedRows known(along(240));
  const Band inside = known.band(at(3.9), kParts, false),
             outside = known.band(at(9), kParts, false);
  EXPECT_FALSE(inside.outside);
  EXPECT_TRUE(outside.outside);
  EXPECT_GT(outside.high, 3 * inside.high);
}

TEST(Bands, APartThatNoRowHasIsNamedAndWidens) {
  const ValidatedRows known(along(240));
  const Band checked = known.band(at(3), kParts, false),
             other = known.band(at(3), {"Hopper devices", "context parallel"}, false);
  EXPECT_TRUE(checked.unchecked.empty());
  EXPECT_EQ(other.unchecked, std::vector<std::string>{"context parallel"});
  EXPECT_TRUE(other.outside);
  EXPECT_GT(other.high, checked.high);
}

// A kind of its own beside dense rows that hold what they promise: of few groups and far off.
std::vector<ValidatedRow> with_routed(double error) {
  std::vector<ValidatedRow> rows = along(240);
  for (int i = 0; i < 12; ++i) {
    ValidatedRow row = rows[static_cast<std::size_t>(20 * i)];
    row.id = "routed-" + std::to_string(i);
    row.source = "routed-source";
    row.group = "routed-group-" + std::to_string(i % 3);
    row.routed = true;
    row.features.values[place("routed")] = 1;
    row.log_error = i % 2 == 0 ? error : -error;
    rows.push_back(std::move(row));
  }
  return rows;
}

TEST(Bands, OfAKindThatIsNotHeldAreWiderAndNotValidated) {
  const ValidatedRows alone(along(240)), known(with_routed(0.6));
  const KindCheck &dense = known.check(RowKind::Dense), &routed = known.check(RowKind::Routed);
  EXPECT_TRUE(dense.validated);
  EXPECT_GE(dense.held, 0.9);
  EXPECT_EQ(routed.rows, 12);
  EXPECT_EQ(routed.groups, 3);
  EXPECT_EQ(routed.sources, 1);
  EXPECT_FALSE(routed.validated);
  EXPECT_LT(routed.held, 0.5);
  EXPECT_GT(routed.stretch, 2);
  RunFeatures run = at(2);
  run.values[place("routed")] = 1;
  const Band band = known.band(run, kParts, false);
  EXPECT_EQ(band.kind, RowKind::Routed);
  EXPECT_FALSE(band.validated);
  EXPECT_GE(band.stretch, routed.stretch);
  EXPECT_LE(0.6, std::log1p(band.high));  // wide enough for what was seen
  EXPECT_NE(band.basis.find("times as wide"), std::string::npos);
}

// Three groups say little, however well they do.
TEST(Bands, OfAKindOfFewGroupsAreNotValidated) {
  const ValidatedRows known(with_routed(0.01));
  EXPECT_EQ(known.check(RowKind::Routed).held, 1);
  EXPECT_FALSE(known.check(RowKind::Routed).validated);
  EXPECT_EQ(known.check(RowKind::Routed).stretch, 1);
}

// Dense rows near 3 were off by twelve times their band: plans like them get a warning.
TEST(Bands, NearRowsThatWereNotHeldAreSaidAndWiden) {
  std::vector<ValidatedRow> rows = along(240);
  for (ValidatedRow& row : rows) {
    const double where = row.features.values[place("layer-work")];
    const bool off = row.source == "source-2" || row.source == "source-3";
    if (off && where > 2.9 && where < 3.3) row.log_error = 0.6;
  }
  const ValidatedRows known(rows), before(along(240));
  const Band near = known.band(at(3.1), kParts, false), far = known.band(at(1), kParts, false);
  EXPECT_LT(near.near_held, 0.85);
  EXPECT_FALSE(near.validated);
  EXPECT_GT(near.stretch, 1);
  EXPECT_TRUE(far.validated);
  EXPECT_LE(far.stretch, 1 + 1e-9);
}

// Uses the table that ships, as `validate --cross` does.
double share_held(RowKind kind) {
  const ValidatedRows& known = validated_rows();
  std::map<std::string, std::pair<int, int>> groups;  // rows and those inside
  for (const ValidatedRow& row : known.rows()) {
    if (row.memory != (kind == RowKind::Memory)) continue;
    if (!row.memory && row.routed != (kind == RowKind::Routed)) continue;
    const Band band = known.band(row.features, row.parts, row.memory, row.source);
    auto& [all, inside] = groups[row.group];
    ++all;
    inside += std::abs(row.log_error) <= std::log1p(band.high) / band.stretch * (1 + 1e-9) ? 1 : 0;
  }
  double sum = 0;
  for (const auto& [name, group] : groups) sum += 1.0 * group.second / group.first;
  return sum / static_cast<double>(groups.size());
}

TEST(ShippedBands, SayTheShareOfRowsOfTheirKindThatTheyHeld) {
  for (const RowKind kind : {RowKind::Dense, RowKind::Routed, RowKind::Memory})
    EXPECT_NEAR(validated_rows().check(kind).held, share_held(kind), 1e-9) << to_string(kind);
  // Dense models and memory hold what they promise and are no wider than their rows ask.
  for (const RowKind kind : {RowKind::Dense, RowKind::Memory}) {
    EXPECT_TRUE(validated_rows().check(kind).validated) << to_string(kind);
    EXPECT_LE(validated_rows().check(kind).stretch, 1 + 1e-9) << to_string(kind);
  }
  EXPECT_FALSE(validated_rows().check(RowKind::Routed).validated);
  EXPECT_GT(validated_rows().check(RowKind::Routed).stretch, 1);
}

// Rows of every kind lie inside their final band when their source is left out.
TEST(ShippedBands, HoldNineOfTenRowsOfEveryKind) {
  const ValidatedRows& known = validated_rows();
  std::map<RowKind, std::map<std::string, std::pair<int, int>>> kinds;
  for (const ValidatedRow& row : known.rows()) {
    const Band band = known.band(row.features, row.parts, row.memory, row.source);
    auto& [all, inside] = kinds[band.kind][row.group];
    ++all;
    inside += std::abs(row.log_error) <= std::log1p(band.high) * (1 + 1e-9) ? 1 : 0;
  }
  for (const auto& [kind, groups] : testing::non_empty(kinds)) {
    double sum = 0;
    for (const auto& [name, group] : groups) sum += 1.0 * group.second / group.first;
    EXPECT_GE(sum / static_cast<double>(groups.size()), 0.9) << to_string(kind);
  }
}

TEST(Bands, WithoutRowsThereIsNoBand) {
  const ValidatedRows none({});
  const Band band = none.band(at(1), kParts, false);
  EXPECT_TRUE(band.outside);
  EXPECT_TRUE(band.nearest.empty());
  EXPECT_EQ(band.high, 0);
  // Rows of time say nothing of memory.
  EXPECT_TRUE(ValidatedRows(along(24)).band(at(1), kParts, true).nearest.empty());
}

TEST(Residuals, ReadBackAsWritten) {
  std::vector<ValidatedRow> rows = along(4);
  rows[1].memory = rows[2].routed = true;
  rows[3].group = "a, \"quoted\" group";
  for (ValidatedRow& row : rows) row.log_error = 0.125, row.features = at(0.25);
  EXPECT_EQ(read_residuals(write_residuals(rows), "r.csv"), rows);
}

TEST(Residuals, AreRefusedWithTheLine) {
  std::string text = write_residuals(along(2));
  const auto refusal = [](const std::string& csv) {
    return testing::refusal([&] { read_residuals(csv, "r.csv"); });
  };
  std::string wrong = text;
  wrong.replace(wrong.find(",time,"), 6, ",tiem,");
  EXPECT_EQ(refusal(wrong), "r.csv:2: expected memory or time, found \"tiem\"");
  wrong = text;
  wrong.replace(wrong.rfind('0'), 1, "x");
  EXPECT_EQ(refusal(wrong), "r.csv:3: expected a number, found \"x\"");
  wrong = text;
  wrong.replace(wrong.find("layer-work"), 10, "layer-wrok");
  EXPECT_EQ(refusal(wrong).substr(0, 28), "r.csv:1: expected the column");
}

Workload workload(const char* model, const char* cluster,
                  std::initializer_list<const char*> settings) {
  Scenario scenario{zoo_model(model), parse_cluster(cluster), {}};
  for (const char* one : settings) apply_setting(scenario.plan, one);
  return prepare(scenario);
}

RunFeatures features_of(const Workload& work) {
  const auto cost = physical_cost_model(work.scenario);
  return features(work, estimate_step(work, *cost));
}

std::string evidence_of(const Workload& work, bool* outside = nullptr) {
  const auto cost = physical_cost_model(work.scenario);
  Result result = estimate(work, *cost);
  state_bands(result, work, *cost);
  if (outside != nullptr) *outside = result.evidence->outside;
  return result.evidence->sentence;
}

bool says(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

TEST(Evidence, SaysTheSharesThatTheTableHas) {
  bool outside = true;
  const std::string dense =
      evidence_of(workload("llama-3-8b", "h100-sxm:64", {"zero=3", "global-batch=128"}), &outside);
  EXPECT_FALSE(outside) << dense;
  EXPECT_TRUE(says(dense, "within the range of measured runs")) << dense;
  EXPECT_TRUE(says(
      dense, fmt::format("{:.0f} % of 609 rows of dense models", 100 * share_held(RowKind::Dense))))
      << dense;
  EXPECT_TRUE(says(dense, fmt::format("of peaks {:.0f} % of 140 rows of memory",
                                      100 * share_held(RowKind::Memory))))
      << dense;
  const std::string routed =
      evidence_of(workload("qwen3-30b-a3b", "gb200-gpu:8",
                           {"ep=8", "precision=mxfp8", "global-batch=512", "framework=megatron"}),
                  &outside);
  EXPECT_TRUE(outside) << routed;
  EXPECT_FALSE(says(routed, "within the range")) << routed;
  EXPECT_TRUE(says(routed, fmt::format("{:.0f} % of 60 rows of routed experts",
                                       100 * share_held(RowKind::Routed))))
      << routed;
  EXPECT_FALSE(says(routed, "all of one source")) << routed;
}

// The sentence about releases of software, held against the published rows whose settings are alike
// and whose sources differ.
TEST(Evidence, ReleasesDifferAsTheCostModelSays) {
  using Key = std::vector<std::string>;
  std::map<Key, std::vector<const MeasuredRow*>> alike;
  const std::vector<MeasuredRow>& rows = published_rows();
  for (const MeasuredRow& row : rows) {
    if (!row.step_seconds || row.trust == Trust::C || !row.suspect.empty()) continue;
    Key key = {row.model_family,     row.gpu,  row.precision, row.recompute,  row.flash_attention,
               row.schedule,         row.zero, row.offload,   row.intra_link, row.inter_link,
               row.sequence_parallel};
    for (const std::optional<std::int64_t>& number :
         {row.layers, row.hidden, row.heads, row.kv_heads, row.ffn, row.vocab, row.sequence,
          row.experts, row.top_k, row.gpus, row.gpus_per_node, row.dp, row.tp, row.pp, row.vpp,
          row.cp, row.ep, row.micro_batch, row.global_batch})
      key.push_back(number ? std::to_string(*number) : "");
    alike[key].push_back(&row);
  }
  std::vector<double> spreads;
  for (const auto& [key, group] : alike) {
    double least = 1e300, most = 0;
    bool releases = false;
    for (const MeasuredRow* row : group) {
      least = std::min(least, *row->step_seconds), most = std::max(most, *row->step_seconds);
      releases = releases || row->source != group.front()->source;
    }
    if (releases) spreads.push_back(most / least - 1);
  }
  std::sort(spreads.begin(), spreads.end());
  ASSERT_FALSE(spreads.empty());
  const double median = 0.5 * (spreads[spreads.size() / 2] + spreads[(spreads.size() - 1) / 2]);
  const std::string expected = fmt::format(
      "software releases: published steps of one configuration differ by {:.0f} % between releases "
      "(median of {}), and by up to {:.0f} %",
      100 * median, spreads.size(), 100 * spreads.back());
  const auto left_out =
      physical_cost_model(workload("gpt2", "h100-sxm:8", {}).scenario)->leaves_out();
  EXPECT_EQ(std::count(left_out.begin(), left_out.end(), expected), 1) << expected;
}

TEST(Features, ARunIsLikeItselfAndUnlikeOthers) {
  const Workload dense = workload("llama-3-8b", "h100-sxm:64", {"tp=2", "global-batch=128"}),
                 small = workload("gpt2", "h100-sxm:64", {"tp=2", "global-batch=128"}),
                 longer = workload("llama-3-8b", "h100-sxm:64", {"tp=2", "global-batch=256"});
  const RunFeatures one = features_of(dense);
  EXPECT_EQ(one.values.size(), feature_names().size());
  for (const double value : testing::non_empty(one.values)) EXPECT_TRUE(std::isfinite(value));
  for (const bool memory : {false, true}) {
    EXPECT_EQ(distance(one, one, memory), 0);
    EXPECT_GT(distance(one, features_of(small), memory),
              distance(one, features_of(longer), memory));
    EXPECT_EQ(distance(one, features_of(small), memory), distance(features_of(small), one, memory));
  }
}

TEST(Features, BlanksAreADistanceOfTheirOwn) {
  const Workload work = workload("llama-3-8b", "h100-sxm:64", {"tp=2", "global-batch=128"});
  const auto cost = physical_cost_model(work.scenario);
  const StepEstimate step = estimate_step(work, *cost);
  EXPECT_GT(distance(features(work, step), features(work, step, 2), false), 0.5);
}

TEST(Features, PartsAreWhatAPlanIsMadeOf) {
  EXPECT_EQ(parts_of(workload("llama-3-8b", "h100-sxm:64",
                              {"tp=2", "pp=4", "schedule=1f1b", "global-batch=128", "zero=1"})),
            (std::vector<std::string>{"Hopper devices", "ZeRO 1", "optimizer adam",
                                      "precision bf16", "schedule 1f1b", "tensor parallel"}));
  const std::vector<std::string> parts =
      parts_of(workload("llama-3-8b", "a100-sxm-80:8", {"zero=3", "recompute=full"}));
  EXPECT_EQ(parts, (std::vector<std::string>{"Ampere devices", "ZeRO 3", "optimizer adam",
                                             "precision bf16", "recompute full"}));
}

}  // namespace
}  // namespace trainyard
