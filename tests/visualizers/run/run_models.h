// Makes the picture models of runs of a small experiment.
#pragma once

#include "tests/visualizers/small_experiment.h"
#include "visualizers/run/run_model.h"

namespace trainyard::testing_run {

using namespace std::chrono_literals;
using testing_experiment::experiment;

// A run that takes a tenth longer than predicted and is half a step into its second update.
inline RunModel half_way() {
  RunModel model;
  auto e = std::make_shared<Experiment>(
      *experiment({.stages = 2, .microbatches = 4, .capacity = 20_GiB}));
  e->result.step.value = e->result.step.low = e->result.step.high = makespan(e->timeline);
  e->result.tokens_per_step = 4096;
  model.predicted = e;
  model.status = "step 2 of 4";
  model.running = true;
  model.steps = 4;
  model.losses = {2.3, 1.7};
  const auto slower = [](Instant t) { return t + t / 10; };
  for (const Span& span : model.predicted->timeline.spans)
    model.spans.push_back(span.start < 14ms ? Span{slower(span.start), slower(span.end)}
                                            : kUnmeasured);
  model.waves.resize(2);
  model.waves[0] = model.predicted->waves[0];
  for (MemoryWave::Sample& sample : model.waves[0].samples) sample.at = slower(sample.at);
  return model;
}

inline RunModel done() {
  RunModel model = half_way();
  const Experiment& predicted = *model.predicted;
  model.running = false;
  model.status = "trained for 4 updates";
  model.outcome = "92.4 % right";
  model.losses = {2.3, 1.7, 1.2, 1.1};
  Timeline measured = predicted.timeline;
  model.waves = predicted.waves;
  for (Span& span : measured.spans) span = {span.start * 11 / 10, span.end * 11 / 10};
  for (MemoryWave& wave : model.waves)
    for (MemoryWave::Sample& sample : wave.samples) sample.at = sample.at * 11 / 10;
  model.spans = measured.spans;
  model.comparison =
      compare(predicted.program, {predicted.timeline, predicted.waves}, {measured, model.waves});
  model.step = makespan(measured);
  return model;
}

// The same on one device that waves share, which would hold 2 GiB more if they were aligned.
inline RunModel sharing() {
  RunModel model = done();
  model.predicted = experiment({.stages = 1, .microbatches = 4, .capacity = 20_GiB});
  model.spans = model.predicted->timeline.spans;
  model.waves = model.predicted->waves;
  model.comparison.reset();
  std::vector<std::int64_t> at, held;
  for (const MemoryWave::Sample& sample : model.waves[0].samples)
    at.push_back(sample.at.count()), held.push_back((total(sample.bytes) + 1_GiB).value);
  model.aligned = {step_curve(at, held), peak_of(model.waves[0]) + 2_GiB};
  return model;
}

}  // namespace trainyard::testing_run
