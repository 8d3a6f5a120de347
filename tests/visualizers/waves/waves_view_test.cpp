// Tests tick and tock on one device, written by hand: layers allocate in forward and release in
// backward, so that a wave is a ramp of small steps.
#include "visualizers/waves/waves_view.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/timeline/metrics.h"
#include "tests/support/non_empty.h"
#include "tests/support/orders.h"
#include "tests/support/programs.h"
#include "tests/visualizers/labels.h"
#include "visualizers/memory/memory_view.h"
#include "visualizers/time/memory_model.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;
using testing::has_label;

struct Ramps {
  int waves = 2, layers = 100, cycles = 5;
  double offset = 0.5;  // of the cycle
  int ratio = 2;        // backward over forward
};
constexpr Bytes kLayer = 10_MiB, kState = 2_GiB;
constexpr Duration kStep = 1ms;

Duration cycle_of(const Ramps& r) { return r.layers * (1 + r.ratio) * kStep; }

ExperimentPtr experiment(const Ramps& r) {
  Draft draft;
  Buffer state;
  state.name = draft.name("weights");
  state.category = Category::Weights;
  state.persistent = true;
  state.bytes = kState;
  state.stage = {0}, state.device = {0};
  draft.buffer(state);
  std::vector<TaskId> forward, backward;
  for (int layer = 0; layer < r.layers; ++layer) {
    Buffer kept = state;
    kept.category = Category::Activations;
    kept.persistent = false;
    kept.bytes = kLayer;
    const BufferId buffer = draft.buffer(kept);
    Task task;
    task.stage = {0};
    task.name = task.pass = draft.name("layer");
    forward.push_back(draft.task(task));
    draft.effect(forward.back(), buffer, true, false);
    task.phase = Phase::Backward;
    backward.push_back(draft.task(task));
    draft.effect(backward.back(), buffer, false, true);
  }
  Task update;
  update.stage = {0};
  update.phase = Phase::Update;
  update.name = update.pass = draft.name("update");
  const TaskId updated = draft.task(update);
  for (int w = 0; w < r.waves; ++w) {
    const auto delay = Duration{
        static_cast<std::int64_t>(w * r.offset * static_cast<double>(cycle_of(r).count()))};
    const std::uint32_t lane = draft.stream({0}, "wave " + std::to_string(w), true, delay);
    const auto wave = static_cast<std::int16_t>(w);
    for (int c = 0; c < r.cycles; ++c) {
      for (int layer = 0; layer < r.layers; ++layer)
        draft.add(lane, forward[static_cast<std::size_t>(layer)], c * r.waves + w, {}, wave);
      for (int layer = r.layers; layer-- > 0;)
        draft.add(lane, backward[static_cast<std::size_t>(layer)], c * r.waves + w, {}, wave);
      draft.add(lane, updated, c, {}, wave, static_cast<std::int16_t>(c + 1));
    }
  }
  auto e = std::make_shared<Experiment>();
  e->program = draft.finish();
  e->program.devices = e->program.stages = 1;
  e->program.steps = r.cycles;
  e->timeline = testing::play(e->program, [&](const Task& task) {
    return task.phase == Phase::Forward    ? kStep
           : task.phase == Phase::Backward ? r.ratio * kStep
                                           : Duration{};
  });
  e->waves.push_back(memory_wave(e->timeline, e->program, DeviceId{0}));
  e->workload.scenario.cluster = parse_cluster("h100-sxm:1");
  e->result.capacity = kState + kLayer * 150;
  return e;
}

double peak_over_solo(const WavesModel& model) {
  const DeviceWaves& waves = model.devices.front();
  return static_cast<double>(waves.total.value[waves.total.peak] - waves.state) /
         static_cast<double>(peak_of(waves.cycle));
}

TEST(WavesModel, PeakOverSoloPeakIsTheSheets) {
  const auto half = [](int ratio) {
    return peak_over_solo(waves_model(experiment({2, 100, 5, 0.5, ratio})));
  };
  EXPECT_NEAR(half(1), 1.000, 0.03);
  EXPECT_NEAR(half(2), 1.250, 0.03);
  EXPECT_NEAR(half(3), 1.333, 0.03);
  EXPECT_NEAR(peak_over_solo(waves_model(experiment({2, 100, 5, 0.0, 2}))), 2.0, 0.02);
  EXPECT_NEAR(peak_over_solo(waves_model(experiment({2, 100, 5, 1.0 / 3, 2}))), 1.5, 0.03);
  EXPECT_NEAR(peak_over_solo(waves_model(experiment({3, 100, 5, 1.0 / 3, 2}))), 1.5, 0.03);
}

// The parts add up to the device's memory at every sample.
TEST(WavesModel, PartsSumToTheWave) {
  const ExperimentPtr e = experiment({3, 20, 3, 0.3, 2});
  const WavesModel model = waves_model(e);
  const DeviceWaves& waves = model.devices.front();
  ASSERT_EQ(model.waves, 3);
  ASSERT_EQ(waves.parts.size(), 4u);
  for (const MemoryWave::Sample& sample : testing::non_empty(e->waves.front().samples)) {
    const auto after =
        std::upper_bound(waves.total.at.begin(), waves.total.at.end(), sample.at.count());
    const auto i = static_cast<std::size_t>(after - waves.total.at.begin()) - 1;
    std::int64_t sum = 0;
    for (const auto& part : waves.parts) sum += part[i];
    EXPECT_EQ(sum, total(sample.bytes).value);
    EXPECT_EQ(sum, waves.total.value[i]);
  }
}

// Waves that do not slow each other hold aligned what they hold where they have no offset.
TEST(WavesModel, AlignedWavesHoldWhatTheyDoWithoutAnOffset) {
  for (const int waves : {2, 3}) {
    const WavesModel together = waves_model(experiment({waves, 20, 3, 0.0, 2}));
    const WavesModel apart = waves_model(experiment({waves, 20, 3, 0.3, 2}));
    const std::optional<StepCurve>& aligned = apart.devices.front().aligned;
    ASSERT_TRUE(aligned);
    EXPECT_EQ(peak_bytes(*aligned), run_peak(together.devices.front()));
    EXPECT_LT(run_peak(apart.devices.front()), peak_bytes(*aligned));
    for (const std::int64_t at : testing::non_empty(together.devices.front().total.at))
      EXPECT_EQ(value_at(*aligned, Instant{at}),
                value_at(together.devices.front().total, Instant{at}))
          << at;
  }
  EXPECT_FALSE(waves_model(experiment({1, 20, 3, 0, 2})).devices.front().aligned);
}

TEST(WavesModel, CycleAndOffsetAreReadOffTheRun) {
  const Ramps ramps{2, 50, 5, 0.4, 2};
  const WavesModel model = waves_model(experiment(ramps));
  const DeviceWaves& waves = model.devices.front();
  EXPECT_EQ(waves.cycle.period, cycle_of(ramps));
  EXPECT_NEAR(own_offset(model, waves).value(), 0.4, 1e-9);
  EXPECT_EQ(waves.forward, 50 * kStep);
  EXPECT_EQ(waves.state, kState.value);
  EXPECT_EQ(peak_of(waves.cycle), 50 * kLayer.value);
}

// The curve's value at the program's own offset equals what the run held.
TEST(WavesModel, ScanAgreesWithTheRunAtItsOwnOffset) {
  for (const double offset : {0.0, 0.2, 0.35, 0.5, 0.9}) {
    const WavesModel model = waves_model(experiment({2, 100, 5, offset, 2}));
    const DeviceWaves& waves = model.devices.front();
    const OffsetScan scan = scan_of(model, waves.device);
    EXPECT_NEAR(static_cast<double>(peak_at_offset(scan, offset)),
                static_cast<double>(waves.total.value[waves.total.peak]),
                1.5 * static_cast<double>(kLayer.value))
        << offset;
  }
}

TEST(WavesModel, HalfACycleIsTheLowest) {
  const WavesModel model = waves_model(experiment({}));
  EXPECT_NEAR(model.scan.share[model.scan.best], 0.5, 0.02);
}

constexpr Rect kWavesArea{0, 0, 1082, 620};

Drawing draw(const WavesModel& model, const ViewState& state = {}) {
  Drawing drawing({kWavesArea.width, kWavesArea.height});
  draw_waves(drawing, kWavesArea, model, timeline_model(model.experiment), state);
  return drawing;
}

TEST(WavesView, SaysThePeakAsAMultipleOfOneWavesAndBothNames) {
  const Drawing drawing = draw(waves_model(experiment({})));
  EXPECT_TRUE(has_label(drawing, "1.26 \u00D7"));
  EXPECT_TRUE(has_label(drawing, "tick"));
  EXPECT_TRUE(has_label(drawing, "tock"));
  EXPECT_TRUE(has_label(drawing, "0.50 T = 150 ms"));
  for (int part = 0; part < 3; ++part)
    EXPECT_TRUE(std::any_of(drawing.marks.begin(), drawing.marks.end(), [&](const Mark& mark) {
      return mark.kind == MarkKind::Columns &&
             mark.style.item == Item{ItemKind::Wave, static_cast<std::uint64_t>(part)};
    }));
}

TEST(WavesView, HandleFollowsWhatIsDragged) {
  const WavesModel model = waves_model(experiment({}));
  ViewState state;
  state.wave_offset = 0.25;
  const WavesLayout layout = waves_layout(model, kWavesArea, state);
  const Drawing drawing = draw(model, state);
  const auto handle =
      std::find_if(drawing.marks.begin(), drawing.marks.end(),
                   [](const Mark& mark) { return mark.style.item == Item{ItemKind::Other, 1}; });
  ASSERT_NE(handle, drawing.marks.end());
  EXPECT_NEAR(handle->rect.x + handle->rect.width / 2,
              layout.slider.x + layout.slider.width * 0.25f, 0.01f);
}

TEST(WavesView, OffsetSnapsToItsMarksUnlessFree) {
  const WavesModel model = waves_model(experiment({}));
  const WavesLayout layout = waves_layout(model, kWavesArea, {});
  const auto x = [&](double share) {
    return layout.slider.x + layout.slider.width * static_cast<float>(share);
  };
  EXPECT_EQ(offset_at(model, layout, x(0.5) + 4), 0.5);
  EXPECT_NE(offset_at(model, layout, x(0.5) + 4, true), 0.5);
  EXPECT_EQ(offset_at(model, layout, x(0) - 50), 0.0);
  EXPECT_EQ(offset_at(model, layout, x(1) + 50), 1.0);
  EXPECT_NEAR(offset_at(model, layout, x(0.7)), 0.7, 1e-6);
}

TEST(WavesView, HoverTellsOffsetAndParts) {
  const WavesModel model = waves_model(experiment({}));
  const TimelineModel timeline = timeline_model(model.experiment);
  const WavesLayout layout = waves_layout(model, kWavesArea, {});
  const Point middle{layout.slider.x + layout.slider.width / 2, layout.slider.y + 10};
  const Hover offset =
      describe_waves(model, timeline, kWavesArea, {}, {ItemKind::Other, 0}, middle);
  EXPECT_EQ(offset.title, "Offset 0.50 T");
  const Hover tock = describe_waves(model, timeline, kWavesArea, {}, {ItemKind::Wave, 2},
                                    {layout.memory.x + 500, layout.memory.y + 50});
  EXPECT_EQ(tock.title, "tock");
  EXPECT_EQ(describe_waves(model, timeline, kWavesArea, {}, {ItemKind::Wave, 9}, middle).title, "");
}

TEST(WavesView, OneWaveAsksWhatASecondWouldNeed) {
  const WavesModel model = waves_model(experiment({1, 40, 3, 0, 2}));
  EXPECT_EQ(model.waves, 1);
  EXPECT_NEAR(static_cast<double>(model.scan.bytes.front() - kState.value),
              2.0 * static_cast<double>(peak_of(model.devices.front().cycle)), 1);
  EXPECT_TRUE(has_label(draw(model), "If a second wave ran beside it"));
}

}  // namespace
}  // namespace trainyard
