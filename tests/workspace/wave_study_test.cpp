#include "app/workspace/scenario/wave_study.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "app/workspace/scenario/workspace.h"
#include "core/methods/schedules/wave_offset.h"
#include "core/result/figures.h"
#include "tests/support/non_empty.h"
#include "tests/visualizers/labels.h"
#include "visualizers/viewmodel/format.h"
#include "visualizers/waves/waves_view.h"

namespace trainyard {
namespace {

Scenario opened(const std::string& model, const std::string& cluster, const std::string& settings) {
  Request request;
  request.model = model, request.cluster = cluster, request.settings = {settings};
  return open(request);
}

Scenario waves_of_resnet() {
  return opened("resnet-50", "v100-sxm2-32:1", "schedule=tick-tock global-batch=64 micro-batch=16");
}

ExperimentPtr simulated_at(double share) {
  const Scenario scenario = at_wave_offset(waves_of_resnet(), share);
  return simulate(scenario, {.grain = natural_grain(scenario), .fixes = false});
}

// The curve, the handle on it, the wave and the verdict have one peak, and the handle lies where it
// was dropped.
TEST(WaveStudy, TheHandleStaysWhereItIsDroppedAndSaysTheSimulatedPeak) {
  const Scenario scenario = waves_of_resnet();
  const auto study = wave_study(scenario, natural_grain(scenario));
  const Size size = view("waves").size;
  for (const double share : {0.0, 0.034, 0.125, 0.24, 0.333, 0.43, 0.5, 0.617, 0.75, 0.9, 1.0}) {
    const ExperimentPtr experiment = simulated_at(share);
    const ViewData data(experiment, cost_model(experiment->workload.scenario), study);
    const WavesModel& model = data.get<WavesModel>();
    const WavesLayout layout = waves_layout(model, whole(size), {});
    EXPECT_NEAR(wave_offset(experiment->workload.scenario.plan).value(), share, 1e-9);

    const Drawing drawing = view("waves").draw(data, size, {});
    const auto handle = std::find_if(drawing.marks.begin(), drawing.marks.end(), [](const Mark& m) {
      return m.style.item == Item{ItemKind::Other, 1};
    });
    ASSERT_NE(handle, drawing.marks.end()) << share;
    const float x = layout.slider.x + layout.slider.width * static_cast<float>(share);
    EXPECT_NEAR(handle->rect.x + handle->rect.width / 2, x, 1) << share;
    EXPECT_NEAR(offset_at(model, layout, x, true), share, 1e-6);

    const Bytes peak = worst_peak(experiment->result);
    EXPECT_EQ(peak_at_offset(model.scan, share), peak.value) << share;
    EXPECT_EQ(run_peak(model.devices.front()), peak.value) << share;
    EXPECT_GE(std::count_if(drawing.labels.begin(), drawing.labels.end(),
                            [&](const Label& l) { return l.text == format_bytes(peak); }),
              2)
        << "beside the wave and at the handle, " << share;
  }
}

TEST(WaveStudy, EachIsThePeakOfThePlanAtThatOffset) {
  const Scenario scenario = waves_of_resnet();
  const auto study = wave_study(scenario, natural_grain(scenario));
  ASSERT_NE(study, nullptr);
  const std::vector<OffsetPeak>& peaks = study->offsets;
  EXPECT_EQ(peaks.front().share, 0);
  EXPECT_EQ(peaks.back().share, 1);
  for (std::size_t i = 0; i < peaks.size(); i += 6) {
    const OffsetPeak& each = peaks[i];
    EXPECT_EQ(each.peak, worst_peak(simulated_at(each.share)->result)) << each.share;
  }
  const auto lowest =
      std::min_element(peaks.begin(), peaks.end(),
                       [](const OffsetPeak& a, const OffsetPeak& b) { return a.peak < b.peak; });
  EXPECT_LT(lowest->peak, peaks.front().peak);
}

// The same figure wherever the aligned peak is said.
TEST(WaveStudy, BeginsWithTheAlignedPeak) {
  const Scenario scenario = waves_of_resnet();
  const auto study = wave_study(scenario, natural_grain(scenario));
  ASSERT_NE(study, nullptr);
  EXPECT_EQ(aligned_peak(scenario), study->offsets.front().peak);
  EXPECT_EQ(aligned_peak(at_wave_offset(scenario, 0.3)), study->offsets.front().peak);
  EXPECT_FALSE(aligned_peak(opened("resnet-50", "v100-sxm2-32:1", "global-batch=64")));
}

// Each alternative is the plan with its changes, simulated by itself.
TEST(WaveStudy, AlternativesAreThePlansThatTheyName) {
  const Scenario scenario = waves_of_resnet();
  const auto study = wave_study(scenario, natural_grain(scenario));
  ASSERT_NE(study, nullptr);
  ASSERT_GE(study->alternatives.size(), 2u);
  EXPECT_EQ(study->alternatives[0].changes, "schedule=1f1b global-batch=32");
  EXPECT_EQ(study->alternatives[1].changes, "schedule=1f1b global-batch=64 micro-batch=32");
  for (const WaveAlternative& each : study->alternatives) {
    const Scenario other =
        opened("resnet-50", "v100-sxm2-32:1",
               "schedule=tick-tock global-batch=64 micro-batch=16 " + each.changes);
    const ExperimentPtr experiment =
        simulate(other, {.grain = natural_grain(scenario), .fixes = false});
    EXPECT_EQ(each.peak, worst_peak(experiment->result)) << each.changes;
    EXPECT_DOUBLE_EQ(each.rate, rate(experiment->result).value) << each.changes;
  }
  // What is recomputed holds no more than the waves do at their best offset.
  if (study->alternatives.size() == 3) {
    for (const OffsetPeak& offset : study->offsets)
      EXPECT_LE(study->alternatives[2].peak, offset.peak) << offset.share;
  }
}

// Long sequences fill the device's memory before its processors: the doubled batch does not fit,
// and the waves hide each other's all-reduces.
TEST(WaveStudy, FindsAPlanForWhichWavesPay) {
  const Scenario scenario =
      opened("llama-3-8b", "h100-sxm:8",
             "tp=8 schedule=tick-tock sequence=65536 global-batch=4 micro-batch=1");
  const Grain grain = natural_grain(scenario);
  const ExperimentPtr experiment = simulate(scenario, {.grain = grain, .fixes = false});
  const ViewData data(experiment, cost_model(experiment->workload.scenario),
                      wave_study(scenario, grain));
  const WavesModel& model = data.get<WavesModel>();
  const WavesWorth worth = model.worth.value();
  EXPECT_TRUE(experiment->result.verdict.fits);
  EXPECT_FALSE(model.alternatives.at(1).fits);
  EXPECT_GT(worth.gain, 1.05);
  EXPECT_LE(worth.gain, 1 / worth.busy);
}

TEST(WaveStudy, OnlyPlansWithAnOffsetHaveThem) {
  for (const char* others : {"schedule=1f1b", "schedule=tick-tock tick-tock.waves=1"}) {
    const Scenario scenario =
        opened("gpt-tiny", "h100-sxm:1", std::string(others) + " global-batch=4");
    EXPECT_EQ(wave_study(scenario, Grain::Order), nullptr) << others;
  }
}

}  // namespace
}  // namespace trainyard
