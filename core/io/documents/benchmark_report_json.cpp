#include "core/io/documents/benchmark_report_json.h"

namespace trainyard {
namespace {

constexpr const char* kReportSchema = "trainyard/benchmark-report";
constexpr std::size_t kMostListed = 100'000;

Fields<ReportPoint> report_point_fields() {
  return {{"at", &ReportPoint::at, number()}, {"value", &ReportPoint::value, number()}};
}

Fields<ReportRun> report_run_fields() {
  return {{"id", &ReportRun::id, kWhereSet, "in a run list"},
          {"seeds", &ReportRun::seeds, kDefaulted, "every one, as order-seed=3"},
          {"value", &ReportRun::value, "of the metric; absent: the run failed"},
          {"why_not", &ReportRun::why_not, kWhereSet},
          {"reported", &ReportRun::reported, kDefaulted, "it counts for the claim"},
          {"evaluations", &ReportRun::evaluations,
           list_of(object(report_point_fields()), kMostListed, "evaluations"), kWhereSet,
           "the metric by update"}};
}

Fields<ReportTuning> report_tuning_fields() {
  return {{"trials", &ReportTuning::trials},
          {"device_seconds", &ReportTuning::device_seconds},
          {"on_evaluation_samples", &ReportTuning::on_evaluation_samples, kDefaulted,
           "trials were chosen by the samples of the claim"}};
}

Fields<ReportSystem> report_system_fields() {
  return {
      {"name", &ReportSystem::name},
      {"settings", &ReportSystem::settings, kDefaulted},
      {"runs", &ReportSystem::runs, list_of(object(report_run_fields()), kMostListed, "runs"),
       kDefaulted, "all of them"},
      {"runs_made", &ReportSystem::runs_made, "those that are not listed too"},
      {"tuning", &ReportSystem::tuning, object(report_tuning_fields())},
      {"divided_by", &ReportSystem::divided_by, kWhereSet, "watt, dollar, ..."},
      {"curve", &ReportSystem::curve, list_of(object(report_point_fields()), kMostListed, "points"),
       kWhereSet, "the metric over what it is traded for"}};
}

Fields<ReportEvaluation> report_evaluation_fields() {
  return {{"every", &ReportEvaluation::every, "updates; 0: once, at the end"},
          {"samples", &ReportEvaluation::samples},
          {"passes", &ReportEvaluation::passes, kDefaulted,
           "evaluations in a row that must reach the target"},
          {"stated_before", &ReportEvaluation::stated_before, kDefaulted,
           "fixed before the first run"}};
}

Fields<ReportAxis> report_axis_fields() {
  return {{"figure", &ReportAxis::figure},
          {"name", &ReportAxis::name},
          {"scale", &ReportAxis::scale, one_of({"linear", "logarithmic"})},
          {"ideal", &ReportAxis::ideal, kDefaulted, "the line of an ideal system is drawn"}};
}

}  // namespace

const Fields<BenchmarkReport>& benchmark_report_fields() {
  static const Fields<BenchmarkReport> fields = document_fields<BenchmarkReport>(
      kReportSchema,
      {{"claim", &BenchmarkReport::claim, kDefaulted},
       {"better", &BenchmarkReport::better, kWhereSet, "the system that is said to be better"},
       {"metric", &BenchmarkReport::metric},
       {"less_is_better", &BenchmarkReport::less_is_better, kDefaulted},
       {"target", &BenchmarkReport::target, "that counts as success"},
       {"systems", &BenchmarkReport::systems,
        list_of(object(report_system_fields()), 1000, "systems"), kDefaulted},
       {"evaluation", &BenchmarkReport::evaluation, object(report_evaluation_fields())},
       {"axes", &BenchmarkReport::axes, list_of(object(report_axis_fields()), 1000, "axes"),
        "of its pictures"}});
  return fields;
}

BenchmarkReport read_benchmark_report(std::string_view text, const std::string& source) {
  return read_fields(benchmark_report_fields(), text, kReportSchema, source);
}

}  // namespace trainyard
