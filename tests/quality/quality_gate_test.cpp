// Tests a gate's limits, what it blocks and its document.
#include "core/quality/quality_gate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/io/documents/gate_json.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

GateReport two_tasks() {
  GateReport report;
  report.model = "tiny", report.data = "random", report.reference = "a.ckpt";
  report.reference_bytes = 400;
  report.limits = usual_limits();
  report.tasks = {{"clean", 1000, 0.9, 0.3}, {"noise:0.5", 1000, 0.8, 0.6}};
  report.models = {
      {"bits=4", 50, {{1000, 900, 6, 2, 20}, {1000, 800, 15, 5, 40}}, {0.31, 0.65}, 0.25},
      {"bits=8", 100, {{1000, 900, 2, 2, 4}, {1000, 800, 3, 1, 6}}, {0.3, 0.6}, 0.24}};
  return report;
}

TEST(QualityGate, BlocksWhatIsBeyondALimitOnAnyTask) {
  GateReport report = two_tasks();
  judge(report);
  EXPECT_FALSE(report.passes());
  ASSERT_EQ(report.models[0].beyond.size(), 1u);
  EXPECT_EQ(report.models[0].beyond[0],
            "noise:0.5: the error grows by 1.00 percentage points, at most 0.50 are allowed");
  EXPECT_TRUE(report.models[1].passes());
  EXPECT_EQ(
      reason_to_block(report),
      "bits=4 on noise:0.5: the error grows by 1.00 percentage points, at most 0.50 are allowed");
  EXPECT_EQ(report.worst_corrupted(report.models[0]), 1u);
}

TEST(QualityGate, ALimitIsWhatMayStillBeLost) {
  GateReport report = two_tasks();
  apply_limits(report.limits, "excess-error=1%,instability=0.02,flips=none", {"--limit"});
  judge(report);
  EXPECT_TRUE(report.passes()) << reason_to_block(report);
  apply_limit(report.limits, "instability=0.0199", {"--limit"});
  judge(report);
  EXPECT_EQ(
      reason_to_block(report),
      "bits=4 on noise:0.5: one model alone has right 2.00 % of the answers, at most 1.99 are "
      "allowed");
}

TEST(QualityGate, EmbeddingTablesHaveALimitOfTheirOwn) {
  GateReport report = two_tasks();
  report.limits = {};
  report.models[1].tables = {{"tokens weight", 100, 8, 0.02}};
  judge(report);
  EXPECT_TRUE(report.passes());
  report.limits.eigenspace = 0.01;
  judge(report);
  EXPECT_EQ(reason_to_block(report),
            "bits=8 on tokens weight: its eigenspace moved by 0.0200, at most 0.0100 is allowed");
}

TEST(QualityGate, WrongLimitsAreRefusedWithTheNearest) {
  GateLimits limits;
  EXPECT_EQ(testing::refusal([&] { apply_limit(limits, "excess-eror=1", {"--limit"}); }),
            "--limit: expected a limit of excess-error, instability, flips, eigenspace, as "
            "instability=0.01, found \"excess-eror=1\"; did you mean \"excess-error\"?");
  EXPECT_NE(testing::refusal([&] { apply_limit(limits, "flips=150%", {"--limit"}); }), "accepted");
  EXPECT_NE(testing::refusal([&] { apply_limit(limits, "flips=nan", {"--limit"}); }), "accepted");
  EXPECT_NE(testing::refusal([&] { apply_limit(limits, "flips", {"--limit"}); }), "accepted");
}

TEST(QualityGate, ErrorsOfChipsHaveASpread) {
  const ChipErrors errors = chip_errors(std::vector<double>{0.1, 0.2, 0.6});
  EXPECT_DOUBLE_EQ(errors.mean, 0.3);
  EXPECT_DOUBLE_EQ(errors.deviation, std::sqrt((0.04 + 0.01 + 0.09) / 2));
  EXPECT_EQ(errors.least, 0.1);
  EXPECT_EQ(errors.most, 0.6);
  EXPECT_EQ(chip_errors(std::vector<double>{0.5}).deviation, 0);
}

TEST(QualityGate, ADocumentIsReadAndJudgedAgain) {
  GateReport report = two_tasks();
  report.models[1].chips = GatedChips{"bits=8", 0.01, 50, {{0.1, 0.02, 0.05, 0.2}, {}}};
  report.models[1].lossless = LosslessBytes{90, 0.75, 0.9};
  report.tensors = {{"weight of layer 0", false, 64, 0.5, 0.75}};
  report.models[1].decibels = 19.5;
  report.vectors = {{4, 0, 0, 14}, {4, 16, 4, 19.5}};
  judge(report);
  const std::string written = write_json(gate_fields().write(report));
  const GateReport read = read_gate(written, "gate.json");
  EXPECT_EQ(write_json(gate_fields().write(read)), written);
  EXPECT_EQ(reason_to_block(read), reason_to_block(report));
  EXPECT_EQ(read.limits, report.limits);
  // Without a limit of excess error there is none, not the usual one.
  report.limits = {};
  judge(report);
  EXPECT_TRUE(read_gate(write_json(gate_fields().write(report)), "gate.json").passes());
  report.models[0].losses.pop_back();
  EXPECT_NE(testing::refusal([&] {
              read_gate(write_json(gate_fields().write(report)), "gate.json");
            }).find("gate.json#/models/0: expected 2 tasks"),
            std::string::npos);
}

}  // namespace
}  // namespace trainyard
