#include "backends/anchored.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/training/halp/anchored_data.h"

namespace trainyard {

std::unique_ptr<DataSource> anchored_data(const BackendJob& job) {
  const Plan& plan = job.workload.scenario.plan;
  if (!trains_by_halp(plan)) return nullptr;
  return std::make_unique<AnchoredData>(*job.data, halp_of(plan), plan.batch.micro,
                                        plan.batch.global / plan.batch.micro,
                                        seed_of(*job.training, RandomSource::Order));
}

void check_anchored(const BackendJob& job, std::string_view who, Diagnostics& found) {
  if (!trains_by_halp(job.workload.scenario.plan)) return;
  const Training& training = *job.training;
  const auto refuse = [&](std::string sentence, std::string place, std::string fix) {
    found.push_back({Diagnostic::Severity::Error,
                     std::string(who) + " " + std::move(sentence),
                     {std::move(place)},
                     std::move(fix)});
  };
  const auto refuse_key = [&](bool wrong, std::string_view key, std::string_view why) {
    if (!wrong) return;
    const auto keys = training_keys();
    const auto entry =
        std::find_if(keys.begin(), keys.end(), [&](const TrainingKey& k) { return k.key == key; });
    refuse(fmt::format("trains by HALP, {}, found {}={}", why, key, entry->read(training)),
           "--train", fmt::format("--train {}=0", key));
  };
  refuse_key(training.clip != 0, "clip",
             "whose inner steps are of differences of gradients that no norm clips");
  refuse_key(training.weight_clip != 0, "weight-clip",
             "whose weights are on the grid about an anchor");
  refuse_key(training.sparsity != 0, "sparsity", "whose weights are on the grid about an anchor");
  refuse_key(training.stability != 0, "stability", "which reads every sample twice by itself");
  refuse_key(training.bit_errors != 0, "bit-errors",
             "which reads every microbatch twice by itself");
  if (job.workload.layout.binding.documents != nullptr)
    refuse("trains by HALP on whole samples, found documents", "plan#/choices/packing",
           "packing=none");
  if (job.data != nullptr && job.data->acting())
    refuse("trains by HALP on samples that come again, found " + std::string(job.data->name()) +
               ", which acts",
           "--data", "optimizer=adamw");
}

}  // namespace trainyard
