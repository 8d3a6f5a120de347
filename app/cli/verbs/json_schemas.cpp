#include "app/cli/verbs/json_schemas.h"

#include "app/cli/text/clusters/collective_study_text.h"
#include "app/cli/text/clusters/goodput_text.h"
#include "app/cli/text/clusters/incast_text.h"
#include "app/cli/text/clusters/network_text.h"
#include "app/cli/text/clusters/scaling_text.h"
#include "app/cli/text/clusters/straggling_text.h"
#include "app/cli/text/lesson_pages.h"
#include "app/cli/text/plans/fit_text.h"
#include "app/cli/text/plans/knob_answers.h"
#include "app/cli/text/plans/knob_questions.h"
#include "app/cli/text/plans/knobs_text.h"
#include "app/cli/text/plans/plan_text.h"
#include "app/cli/text/runs/batch_text.h"
#include "app/cli/text/runs/hogwild_text.h"
#include "app/cli/text/runs/probe_text.h"
#include "app/cli/text/runs/profile_text.h"
#include "app/cli/text/runs/repeats_text.h"
#include "app/cli/text/waves_text.h"
#include "app/cli/verbs/efficiency.h"
#include "app/workspace/comparison/snapshot_document.h"
#include "app/workspace/plans/placement_document.h"
#include "app/workspace/plans/sweep_document.h"
#include "app/workspace/plans/table_trains.h"
#include "app/workspace/runs/branches/branch_document.h"
#include "app/workspace/runs/halp_document.h"
#include "app/workspace/runs/run_document.h"
#include "app/workspace/runs/sharpness/sharpness_document.h"
#include "app/workspace/runs/tuning/tune_document.h"
#include "app/workspace/scenario/shared_cluster_document.h"
#include "core/base/error.h"
#include "core/base/nearest.h"
#include "core/io/documents/benchmark_report_json.h"
#include "core/io/documents/calibration_json.h"
#include "core/io/documents/device_json.h"
#include "core/io/documents/gate_json.h"
#include "core/io/documents/order_json.h"
#include "core/io/documents/plan_json.h"
#include "core/io/documents/profile_json.h"
#include "core/io/documents/recorded_trace_json.h"
#include "core/io/documents/result_json.h"
#include "core/io/documents/validation_json.h"
#include "core/io/traces/nccl_tests_import.h"
#include "core/lesson/answers.h"

namespace trainyard {
namespace {

struct DocumentSchema {
  std::string_view name;
  Json (*make)();
};

constexpr DocumentSchema kDocuments[] = {
    {"plan", [] { return plan_fields().schema(); }},
    {"result", [] { return result_fields().schema(); }},
    {"search", search_schema},
    {"order", [] { return order_fields().schema(); }},
    {"schedules", schedules_schema},
    {"trade", trade_schema},
    {"knobs", knobs_schema},
    {"boundary", boundary_schema},
    {"fit", fit_schema},
    {"tables", tables_schema},
    {"flip", flip_schema},
    {"owners", owners_schema},
    {"wrapping", wrapping_schema},
    {"resharding", resharding_schema},
    {"recomputation", recomputation_schema},
    {"questions", questions_schema},
    {"scaling", scaling_schema},
    {"sweep", sweep_schema},
    {"goodput", goodput_schema},
    {"waves", [] { return waves_fields().schema(); }},
    {"network", network_schema},
    {"shared-cluster", shared_cluster_schema},
    {"incast", incast_schema},
    {"placement", placement_schema},
    {"stragglers", stragglers_schema},
    {"hogwild", hogwild_schema},
    {"halp", halp_schema},
    {"sharpness", sharpness_schema},
    {"gate", [] { return gate_fields().schema(); }},
    {"tune", tune_schema},
    {"calibration", [] { return calibration_fields().schema(); }},
    {"probe", probe_schema},
    {"span-profile", span_profile_schema},
    {"batch", batch_schema},
    {"branches", branches_schema},
    {"run", [] { return run_fields().schema(); }},
    {"runs", runs_schema},
    {"repeats", repeats_schema},
    {"comparison", comparison_schema},
    {"benchmark-report", [] { return benchmark_report_fields().schema(); }},
    {"lint", lint_schema},
    {"profile", [] { return profile_fields().schema(); }},
    {"validation", validation_schema},
    {"device", device_schema},
    {"efficiency", efficiency_schema},
    {"collectives", collectives_schema},
    {"arena", arena_schema},
    {"trace", trace_schema},
    {"snapshot", snapshot_schema},
    {"links", links_schema},
    {"lessons", lessons_schema},
    {"lesson", lesson_schema},
    {"lesson-figures", lesson_figures_schema},
    {"answers", [] { return answers_fields().schema(); }},
    {"histogram", histogram_schema}};

}  // namespace

std::vector<std::string> json_schema_names() {
  std::vector<std::string> names;
  for (const DocumentSchema& one : kDocuments) names.emplace_back(one.name);
  return names;
}

std::string json_schema(const std::string& name) {
  for (const DocumentSchema& one : kDocuments)
    if (one.name == name) return write_json(document_schema(one.make()));
  throw Error(Error::Kind::InvalidInput,
              "no schema is called \"" + name + "\"" + did_you_mean(name, json_schema_names()),
              {"schema"});
}

}  // namespace trainyard
