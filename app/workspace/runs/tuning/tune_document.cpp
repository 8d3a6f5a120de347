#include "app/workspace/runs/tuning/tune_document.h"

#include "app/workspace/runs/tuning/tune_words.h"
#include "core/io/json/fields.h"

namespace trainyard {
namespace {

constexpr const char* kTuneValue = "of the objective: seconds, bytes, dollars a step, loss";

Fields<TuneTrial> trial_fields() {
  return {
      {"family", &TuneTrial::arm, "index into families"},
      {"set", &TuneTrial::set},
      {"train", &TuneTrial::train, kWhereSet},
      {"value", &TuneTrial::value, kTuneValue},
      {"why_not", &TuneTrial::why_not, kWhereSet, "it has no value because"},
      {"cost_seconds", &TuneTrial::cost, "seconds: of this trial"},
      {"spent_seconds", &TuneTrial::spent, "seconds: of all up to it"},
      {"better", &TuneTrial::better, "than all before"},
      {"together", &TuneTrial::together, kWhereSet, "trials of its program, with --fuse"},
      {"why_alone", &TuneTrial::why_alone, kWhereSet, "it was not trained with others because"}};
}

Fields<TuneFusion> fusion_fields() {
  return {
      {"runs", &TuneFusion::runs, "that trained several trials"},
      {"trials", &TuneFusion::trials, "that have their results from them"},
      {"unneeded", &TuneFusion::unneeded, "trained ahead, and never asked for"},
      {"unneeded_seconds", &TuneFusion::unneeded_seconds, "seconds: of these, beyond spent"},
      {"jobs", &TuneFusion::jobs, "of the largest run; 0 where there was none"},
      {"gain", &TuneFusion::gain, "samples per second of that run over one job after another"},
      {"predicted_gain", &TuneFusion::predicted, "of the same"},
      {"ahead_value", &TuneFusion::ahead_value, "of the best unneeded, if better than all trials"},
      {"ahead_set", &TuneFusion::ahead_set, kWhereSet, "its settings, as set of a trial"},
      {"ahead_train", &TuneFusion::ahead_train, kWhereSet, "its training, as train of a trial"},
      {"would_fit", &TuneFusion::would_fit, "jobs, in the memory of the device"},
      {"priced", &TuneFusion::priced,
       list_of(object(Fields<FusedGain>{{"jobs", &FusedGain::jobs}, {"gain", &FusedGain::gain}})),
       kWhereSet, "predicted gains, where as many as pay were asked for"}};
}

Fields<TuneArm> family_fields() {
  return {{"settings", &TuneArm::settings},
          {"trials", &TuneArm::trials},
          {"spent_seconds", &TuneArm::spent, "seconds: of its trials"},
          {"best", &TuneArm::best, kTuneValue}};
}

// The report must have a best trial.
Fields<TuneReport> best_trial_fields() {
  const auto best = [](const TuneReport& r) -> const TuneTrial& { return r.trials[*r.best]; };
  return {{"trial", [](const TuneReport& r) { return *r.best; }, "index into trials"},
          {"value", [best](const TuneReport& r) { return *best(r).value; }, kTuneValue},
          {"words", [best](const TuneReport& r) { return flag_words(r, best(r)); },
           "for a command line"}};
}

Fields<TuneReport> tune_fields() {
  return document_fields<TuneReport>(
      "trainyard/tune",
      {{"model", &TuneReport::model},
       {"cluster", &TuneReport::cluster},
       {"objective", &TuneReport::goal, one_of({"time", "memory", "money", "loss"})},
       {"measured", &TuneReport::measured},
       {"trials", &TuneReport::trials, list_of(object(trial_fields()))},
       {"families", &TuneReport::arms, list_of(object(family_fields()))},
       {"spent_seconds", &TuneReport::spent, "seconds: of all trials"},
       {"exhausted", &TuneReport::exhausted, "nothing is left to try"},
       {"stopped", &TuneReport::stopped},
       {"fusion", &TuneReport::fusion, object(fusion_fields())},
       {"best", [](const TuneReport& r) { return r.best ? &r : nullptr; },
        object(best_trial_fields())}});
}

}  // namespace

Json tune_schema() { return tune_fields().schema(); }

std::string tune_document(const TuneReport& report) {
  return write_json(tune_fields().write(report));
}

}  // namespace trainyard
