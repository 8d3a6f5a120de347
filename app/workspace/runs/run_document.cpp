#include "app/workspace/runs/run_document.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "app/workspace/runs/number_fields.h"
#include "core/base/digest.h"
#include "core/io/documents/result_json.h"
#include "core/methods/parallel/adasum.h"

namespace trainyard {
namespace {

// Seconds without the range of a prediction.
Form<Duration> measured_time() { return {number().schema, nearest_seconds().write}; }

// By update; null where a loss is no finite number.
Form<std::vector<double>> losses() { return {Json::object(), list_of(finite_number()).write}; }

Fields<CategoryBytes> all_categories() {
  Fields<CategoryBytes> fields;
  for (std::size_t c = 0; c < kCategories; ++c)
    fields.add({std::string(to_string(static_cast<Category>(c))),
                [c](const CategoryBytes& bytes) { return bytes[c]; }});
  return fields;
}

Fields<DeviceMemory> device_memory_fields() {
  const auto scratch = [](const DeviceMemory& m) {
    return m.reach.value > 0 ? &m.scratch : nullptr;
  };
  return {{"rank", &DeviceMemory::device},
          {"peer", &DeviceMemory::peer},
          {"peak_bytes", &DeviceMemory::most},
          {"reach_bytes", &DeviceMemory::reach, kWhereSet},
          {"scratch_bytes", scratch},
          {"host_bytes", &DeviceMemory::host, kWhereSet,
           "held at once for this device in the memory of its host"},
          {"nvme_bytes", &DeviceMemory::nvme, kWhereSet,
           "held for this device in a file that stands for its node's NVMe"},
          {"load", &DeviceMemory::load, kWhereSet},
          {"dropped_share", &DeviceMemory::dropped, kWhereSet,
           "of the copies of tokens that its routers made, those that found no place at an expert"},
          {"categories", &DeviceMemory::most_by_category, object(all_categories())}};
}

Fields<CauseResidual> cause_residual_fields() {
  return {{"cause", &CauseResidual::name},
          {"predicted_seconds", &CauseResidual::predicted, nearest_seconds()},
          {"measured_seconds", &CauseResidual::measured, nearest_seconds()}};
}

Fields<WaveResidual> wave_residual_fields() {
  const Form<CategoryBytes> categories = object(all_categories());
  return {{"rank", &WaveResidual::device},
          {"predicted_peak_bytes", &WaveResidual::predicted_peak},
          {"measured_peak_bytes", &WaveResidual::measured_peak},
          {"predicted_categories", &WaveResidual::predicted_most, categories},
          {"measured_categories", &WaveResidual::measured_most, categories},
          {"over_work", &WaveResidual::over_work_share},
          {"over_time", &WaveResidual::over_time_share}};
}

double worst_over_work(const TimelineComparison& c) {
  double worst = 0;
  for (const WaveResidual& wave : c.waves) worst = std::max(worst, wave.over_work_share());
  return worst;
}

Fields<TimelineComparison> residual_fields() {
  return {{"step", &TimelineComparison::step_share, "measured over predicted, minus 1"},
          {"memory", worst_over_work,
           "farthest apart at the same point of the work, of the predicted peak; the worst rank's"},
          {"critical_rank", &TimelineComparison::device},
          {"causes", &TimelineComparison::causes, list_of(object(cause_residual_fields()))},
          {"waves", &TimelineComparison::waves, list_of(object(wave_residual_fields()))}};
}

Fields<CheckReport> check_fields() {
  const auto tolerance = [](auto member) { return in(&CheckReport::tolerances, member); };
  return {{"backend", &CheckReport::backend, "whose results are the expected ones"},
          {"agrees", &CheckReport::agrees},
          {"difference", &CheckReport::difference, kWhereSet, "the first one, in words"},
          {"loss", &CheckReport::expected, losses(), "expected, by update"},
          {"loss_distance", &CheckReport::worst_loss, finite_number(),
           "the largest, as a share of the expected loss; null where it is no finite number"},
          {"loss_tolerance", tolerance(&CheckTolerances::loss)},
          {"parameter_distance", &CheckReport::worst_parameter, finite_number(),
           "the largest, as a share of the largest parameter of its layer; null where it is no "
           "finite number"},
          {"parameter_tolerance", tolerance(&CheckTolerances::parameters)}};
}

Fields<RunWidths> widths_fields() {
  return {{"distinct", &RunWidths::distinct},
          {"narrowest", &RunWidths::narrowest, "tokens a sample"},
          {"widest", &RunWidths::widest, "tokens a sample"},
          {"computed_share", &RunWidths::computed, "of the tokens of whole sequences"}};
}

Fields<PreparedKernels> prepared_fields() {
  return {{"asked", &PreparedKernels::asked, "times, by operation, shapes and formats"},
          {"created", &PreparedKernels::created, "times; else found again"},
          {"created_late", &PreparedKernels::created_late, "times, after the first two steps"}};
}

Fields<ModelEvaluation> evaluation_fields() {
  const auto accuracy = [](const ModelEvaluation& e) {
    return e.accuracy >= 0 ? &e.accuracy : nullptr;
  };
  const auto mean_return = [](const ModelEvaluation& e) {
    return e.mean_return ? &*e.mean_return : nullptr;
  };
  return {{"loss", &ModelEvaluation::loss, finite_number()},
          {"accuracy", accuracy},
          {"mean_return", mean_return,
           "of a model that acts, over episodes without exploration; samples are then episodes"},
          {"samples", &ModelEvaluation::samples}};
}

Fields<StartedFrom> started_from_fields() {
  return {
      {"checkpoint", &StartedFrom::file},
      {"tensors", &StartedFrom::taken, "taken, each layer's counted"},
      {"fresh", &StartedFrom::fresh, list_of(text()), kWhereSet, "not found there, and begun anew"},
      {"reshaped", &StartedFrom::reshaped, list_of(text()), kWhereSet,
       "of another shape there, and begun anew"},
      {"unused", &StartedFrom::unused, list_of(text()), kWhereSet,
       "not of this model, and left out"}};
}

// A field of the measured result, where there is one. A measurement may leave the range of a
// prediction.
JsonField<TrainingReport> measured(const char* key, std::optional<Json> schema = {}) {
  const JsonField<Result> field = result_fields().at(key);
  const auto of = [field](const TrainingReport& report) {
    Json json = Json::object();
    if (report.measured) field.write(report.measured->result, json, false);
    const Json* found = json.find(field.key);
    return found ? std::optional(*found) : std::nullopt;
  };
  return {key, of, any(schema.value_or(field.schema))};
}

Fields<BatchHeadroom> headroom_fields() {
  return {{"independent", &BatchHeadroom::independent,
           "updates that those which were combined count as"},
          {"per_doubling", &BatchHeadroom::per_doubling,
           "times as many with each doubling of the ranks; 1 = nothing is gained"}};
}

Fields<TrainedPhase> trained_phase_fields() {
  const auto batches = [](auto member) { return in(&TrainedPhase::batches, member); };
  return {{"batch", batches(&BatchPhase::batch), whole(1)},
          {"first_sample", batches(&BatchPhase::first_sample)},
          {"first_step", batches(&BatchPhase::first_step)},
          {"steps", &TrainedPhase::steps, "done in this session"},
          {"predicted_seconds", &TrainedPhase::predicted, nearest_seconds()},
          {"measured_seconds", &TrainedPhase::measured, nearest_seconds(), kWhereSet, "median"},
          {"predicted_peak_bytes", &TrainedPhase::predicted_peak},
          {"rate", &TrainedPhase::rate, number(kAmount), kWhereSet, "peak, for its batch"}};
}

Fields<RunEvaluation> run_evaluation_fields() {
  return {{"step", &RunEvaluation::step, whole(1), "after so many updates"},
          {"loss", &RunEvaluation::loss, finite_number(), "null where a model acts"},
          {"accuracy",
           [](const RunEvaluation& e) {
             return e.accuracy >= 0 ? std::optional(e.accuracy) : std::nullopt;
           },
           number(), "of a model that classifies"},
          {"samples", &RunEvaluation::samples},
          {"seconds", &RunEvaluation::time, measured_time(),
           "processor time of the evaluator that took longest"}};
}

Fields<CacheCounts> cache_fields() {
  return {{"hits", &CacheCounts::hits, "samples that the cache had"},
          {"misses", &CacheCounts::misses, "samples that were decoded"},
          {"kept", &CacheCounts::kept, "samples in the cache"},
          {"kept_bytes", &CacheCounts::bytes},
          {"capacity_bytes", &CacheCounts::capacity}};
}

Fields<LeftOutRules> left_out_fields() {
  const auto names = [](const LeftOutRules& out) {
    return std::vector<std::string>(out.rules.begin(), out.rules.end());
  };
  return {{"rules", names, list_of(text())}, {"why", &LeftOutRules::why}};
}

Fields<RuleReport> rule_report_fields() {
  return {
      {"watched", &RuleReport::rules, "as --rules takes them"},
      {"interval", &RuleReport::interval, whole(1), "steps between two looks"},
      {"fired", &RuleReport::fired, list_of(object(fired_rule_fields()))},
      {"left_out", &RuleReport::left_out, list_of(object(left_out_fields())), kWhereSet,
       "rules that see nothing of this run"},
      {"stopped_at", &RuleReport::stopped_at, kWhereSet, "the step after which a rule ended it"},
      {"saved_steps", &RuleReport::saved_steps, kWhereSet, "of those that were asked for"},
      {"saved_seconds", &RuleReport::saved, measured_time(), kWhereSet, "by the median step"}};
}

Fields<FlipReport> flip_fields() {
  using Named = std::pair<std::string, FlipCounts>;
  using Alarms = std::pair<std::string, std::int64_t>;
  const auto classes = [](const FlipReport& r) {
    std::vector<Named> all;
    for (std::size_t i = 0; i < kFlipClasses; ++i)
      if (r.classes[i].injected > 0) all.emplace_back(kFlipClassNames[i], r.classes[i]);
    return all;
  };
  const auto alarms = [](const FlipReport& r) {
    std::vector<Alarms> all;
    for (std::size_t i = 0; i < kFlipDetectors; ++i)
      if (r.alarms[i] > 0) all.emplace_back(kFlipDetectorNames[i], r.alarms[i]);
    return all;
  };
  const Fields<Named> counts = {
      {"of", &Named::first, "the kind of state"},
      {"injected", [](const Named& n) { return n.second.injected; }, "bits"},
      {"corrected", [](const Named& n) { return n.second.corrected; }, "by the memory's code"},
      {"detected", [](const Named& n) { return n.second.detected; }},
      {"missed", [](const Named& n) { return n.second.missed(); }}};
  const Fields<Alarms> alarm = {{"by", &Alarms::first},
                                {"tensors", &Alarms::second, "that it named, step by step"}};
  return {{"classes", classes, list_of(object(counts))},
          {"alarms", alarms, list_of(object(alarm))},
          {"steps", &FlipReport::steps, "begun, repeated ones included"},
          {"alarmed_steps", &FlipReport::alarmed_steps},
          {"false_alarms", &FlipReport::false_alarms,
           "steps with an alarm in whose state no bit was flipped"},
          {"restores", &FlipReport::restores, "times that the run went back to a state before"},
          {"steps_repeated", &FlipReport::steps_repeated},
          {"not_restored", &FlipReport::not_restored,
           "steps found wrong after which it could not go back"},
          {"sentences", &FlipReport::sentences, list_of(text()), kWhereSet, "of the first alarms"}};
}

Fields<RecoveryReport> recovery_fields() {
  const Fields<ShardLoss> loss = {
      {"step", in(&ShardLoss::kill, &ShardKill::step), "after which the rank failed"},
      {"rank", in(&ShardLoss::kill, &ShardKill::rank)},
      {"samples", &ShardLoss::samples, "trained since the last interval of all rows began"},
      {"rows", &ShardLoss::rows, "that went back"},
      {"lookups", &ShardLoss::lookups, "of these rows since their saves"}};
  return {{"saves", &RecoveryReport::saves},
          {"cpr", [](const RecoveryReport& r) { return std::string(to_string(r.how)); },
           "what is saved, as --train cpr says it"},
          {"shards", &RecoveryReport::shards, whole(1), "ranks that divide the tables"},
          {"rows_saved", &RecoveryReport::rows_saved},
          {"saved_bytes", &RecoveryReport::saved, "with the optimizer's state"},
          {"mirrored_bytes", &RecoveryReport::mirrored,
           "of other parameters, which a neighbour holds too"},
          {"lookups", &RecoveryReport::lookups, "of rows, in this session"},
          {"lost_lookups", &RecoveryReport::lost_lookups, "of which failures left no trace"},
          {"lost_samples", &RecoveryReport::lost_samples, number(kAmount),
           "portion: for each failure the samples since the last save, over those of the training "
           "and the number of shards"},
          {"steps_repeated", &RecoveryReport::steps_repeated, "where all ranks go back"},
          {"failures", &RecoveryReport::losses, list_of(object(loss)), kWhereSet}};
}

Fields<TrainingReport> run_members() {
  using Report = TrainingReport;
  const auto run = [](auto member) { return in(&Report::run, member); };
  const auto step = [](const Report& r) { return r.run.step_times.empty() ? nullptr : &r.step; };
  const auto residual = [](const Report& r) { return r.measured ? &r.comparison : nullptr; };
  const auto combined = [](const Report& r) {
    return r.run.orthogonality.empty() ? std::int64_t{0} : updates_combined(r);
  };
  const auto prediction = [](const Report& r) -> const Result& { return r.predicted->result; };
  return {
      {"digest", [](const Report& r) { return to_hex(r.predicted->result.digest); }},
      {"backend", &Report::backend, "that trained; replay: nothing was trained"},
      {"data", &Report::data, kWhereSet},
      {"steps", [](const Report& r) { return r.run.losses.size(); },
       "updates done, resumed ones included"},
      {"resumed_at", run(&BackendRun::first_step), kWhereSet},
      {"started_from", &Report::started_from, object(started_from_fields()),
       "another run, whose weights this one started from"},
      {"stopped", run(&BackendRun::stopped)},
      {"skipped", run(&BackendRun::skipped), "updates whose gradients had overflowed"},
      {"loss", run(&BackendRun::losses), losses(), "by update; null where it is no finite number"},
      {"step_seconds", step, measured_time(), "median; absent where no time is measured"},
      {"step_times", run(&BackendRun::step_times), list_of(measured_time()), kWhereSet},
      {"phases", &Report::phases, list_of(object(trained_phase_fields())), kWhereSet,
       "of a batch ramp, as far as the run was to go"},
      {"rate", &Report::rate, number(kAmount), kWhereSet,
       "peak learning rate for the batch, as reference-batch and batch-rule make it"},
      {"samples_per_second", run(&BackendRun::samples_per_second), number(kAmount), kWhereSet},
      {"widths", run(&BackendRun::widths), object(widths_fields()),
       "of microbatches that are as wide as their longest document"},
      {"prepared", run(&BackendRun::prepared), object(prepared_fields()),
       "kernels of a library that are set up for a shape"},
      {"orthogonality", run(&BackendRun::orthogonality), list_of(list_of(number())), kWhereSet,
       "by step of this session, then layer: |Adasum|^2 over the sum of |v|^2 of the updates v "
       "that "
       "it combined; 0 = the layer has none"},
      {"combined_updates", combined, kWhereSet, "of replicas, or of nodes"},
      {"batch_headroom", headroom_of, object(headroom_fields()), "by the last steps"},
      {"energy_sent", run(&BackendRun::energy_sent), list_of(list_of(number())), kWhereSet,
       "by step of this session, then layer: |sent|^2 over |added up|^2 of the gradients that "
       "replicas compress; 0 = the layer has none"},
      {"staleness", run(&BackendRun::staleness), list_of(whole()), kWhereSet,
       "number of changes that the server of downpour took, by how many others it had taken since "
       "the replica's fetch, from 0"},
      {"flips", run(&BackendRun::flips), object(flip_fields()),
       "where bits of the system flip by themselves, or something looks for flipped ones"},
      {"recovery", run(&BackendRun::recovery), object(recovery_fields()),
       "where ranks that divide embedding tables may fail"},
      {"kept_bytes", run(&BackendRun::kept), kWhereSet,
       "to go back to, in the memory of the host of the first process, at most between two steps"},
      {"kept_predicted_bytes", &Report::kept, kWhereSet},
      {"devices", run(&BackendRun::memory), list_of(object(device_memory_fields()))},
      {"input", &Report::input, object(cache_fields()),
       "of a plan that says where its samples come from, where they come again"},
      {"evaluation", &Report::evaluation, object(evaluation_fields())},
      {"evaluations", run(&BackendRun::evaluations), list_of(object(run_evaluation_fields())),
       kWhereSet, "those that the plan stops for, of this session"},
      {"rules", &Report::rules, object(rule_report_fields()), "where rules watched it"},
      {"numbers", [](const Report& r) { return r.numbers.get(); }, object(number_fields()),
       "how they lay in the formats of the plan, where --numbers asked for it"},
      {"check", &Report::checked, object(check_fields()),
       "the same training on a second backend; absent where it was stopped before it was done"},
      measured("memory"),
      {"aligned_peak_bytes", &Report::aligned_peak,
       "predicted for the fullest device without the offset between waves that share it"},
      measured("breakdown_seconds"),
      measured("bubble_fraction", number().schema),
      measured("exposed_communication_fraction", number().schema),
      measured("mfu", number().schema),
      {"residual", residual, object(residual_fields())},
      {"predicted", prediction, object(result_fields())}};
}

// The means of that many equal parts of the values, or the values where there are fewer.
std::vector<double> column_means(const std::vector<double>& values, std::size_t width) {
  const std::size_t columns = std::min(width, values.size());
  std::vector<double> means;
  for (std::size_t c = 0; c < columns; ++c) {
    const std::size_t from = c * values.size() / columns, to = (c + 1) * values.size() / columns;
    double sum = 0;
    for (std::size_t i = from; i < to; ++i) sum += values[i];
    means.push_back(sum / static_cast<double>(to - from));
  }
  return means;
}

}  // namespace

std::int64_t updates_combined(const TrainingReport& report) {
  const Scenario& s = report.predicted->workload.scenario;
  return combined_updates(s.plan, s.cluster);
}

std::optional<BatchHeadroom> headroom_of(const TrainingReport& report) {
  const double last = last_ratio(report.run.orthogonality);
  if (last <= 0) return std::nullopt;
  return batch_headroom(last, updates_combined(report));
}

const Fields<TrainingReport>& run_fields() {
  static const Fields<TrainingReport> kFields = document_fields("trainyard/run", run_members());
  return kFields;
}

std::string run_document(const TrainingReport& report) {
  return write_json(run_fields().write(report));
}

std::string sparkline(const std::vector<double>& losses, std::size_t width) {
  double low = INFINITY, high = -INFINITY;
  for (const double mean : column_means(losses, width))
    if (std::isfinite(mean)) low = std::min(low, mean), high = std::max(high, mean);
  return sparkline(losses, width, low, high);
}

std::string sparkline(const std::vector<double>& values, std::size_t width, double low,
                      double high) {
  static constexpr std::string_view kBars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string line;
  for (const double mean : column_means(values, width)) {
    const double share = high > low ? std::clamp((mean - low) / (high - low), 0.0, 1.0) : 0;
    line += std::isfinite(mean) ? kBars[static_cast<std::size_t>(std::lround(share * 7))]
                                : std::string_view("!");
  }
  return line;
}

}  // namespace trainyard
