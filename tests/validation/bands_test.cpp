#include "core/validation/bands.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/cost/physical.h"
#include "core/methods/settings.h"
#include "core/model/zoo.h"

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
  for (const ValidatedRow& row : known.rows()) {
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
  for (const NearRow& row : known.band(known.rows()[100].features, kParts, false, own).nearest)
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
    try {
      read_residuals(csv, "r.csv");
    } catch (const Error& error) {
      return describe(error);
    }
    return std::string("accepted");
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

TEST(Features, ARunIsLikeItselfAndUnlikeOthers) {
  const Workload dense = workload("llama-3-8b", "h100-sxm:64", {"tp=2", "global-batch=128"}),
                 small = workload("gpt2", "h100-sxm:64", {"tp=2", "global-batch=128"}),
                 longer = workload("llama-3-8b", "h100-sxm:64", {"tp=2", "global-batch=256"});
  const RunFeatures one = features_of(dense);
  EXPECT_EQ(one.values.size(), feature_names().size());
  for (const double value : one.values) EXPECT_TRUE(std::isfinite(value));
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
